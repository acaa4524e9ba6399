export const META_POLICY: string;
export const POLICY: string;
export const HEADERS: Record<string, string>;
