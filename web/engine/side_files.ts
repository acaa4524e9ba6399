// Files that stand beside a checkpoint and say something about its quantization. Given whole to the
// core, so they have a bound.
import { CoreError } from './errors';

export const SIDE_FILE_NAMES = ['config.json', 'hf_quant_config.json', 'quantize_config.json', 'params.json'];
export const SIDE_FILE_BYTES_MAX = 4 * 1024 * 1024;
/** The core's kIndexBytesMax; an index has an entry for every tensor. */
export const INDEX_BYTES_MAX = 100_000_000;

export function isSideFile(name: string): boolean {
  return SIDE_FILE_NAMES.includes(name);
}

export function checkIndexSize(name: string, sizeBytes: number): void {
  if (sizeBytes <= INDEX_BYTES_MAX) return;
  throw new CoreError('index_too_large', name, `${sizeBytes} bytes; the limit is ${INDEX_BYTES_MAX}`);
}

export function checkSideFileSize(name: string, sizeBytes: number): void {
  if (sizeBytes <= SIDE_FILE_BYTES_MAX) return;
  throw new CoreError(
    'config_not_json',
    name,
    `${sizeBytes} bytes are more than a configuration (${SIDE_FILE_BYTES_MAX})`,
  );
}
