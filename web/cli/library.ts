// What a Node program imports to use the converter without the command line: build/cli/library.mjs.
export { CoreError, ERROR_CODES } from '../engine/errors';
export { Checkpoint } from '../engine/pipeline';
export { MemorySink } from '../engine/sink';
export { CountingSource, MemorySource } from '../engine/source';
export { loadCore } from './core_loader';
export { FileSink } from './file_sink';
export { FileSource } from './file_source';
export { findInput, openInput } from './input';
