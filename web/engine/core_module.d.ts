// The core as CMake leaves it in build/wasm-release; Vite's alias @core points there.
declare module '@core/weighbridge_core.mjs' {
  const createCore: import('./core').CoreFactory;
  export default createCore;
}

declare module '@core/weighbridge_core.wasm?url' {
  const url: string;
  export default url;
}
