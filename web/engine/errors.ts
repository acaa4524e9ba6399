// Failures in TypeScript: the same codes as src/base/errc.inc (tests/web/errors.test.ts compares the
// two lists), a class for what can be expected and one for our own bugs.

export const ERROR_CODES = [
  'empty_file',
  'file_too_short',
  'git_lfs_pointer',
  'html_page',
  'xml_document',
  'json_document',
  'zip_archive',
  'pickle_file',
  'gguf_file',
  'other_format',
  'zero_filled',
  'header_too_large',
  'truncated_header',
  'header_not_utf8',
  'header_not_json',
  'header_too_deep',
  'invalid_entry',
  'invalid_metadata',
  'duplicate_tensor',
  'duplicate_key',
  'unknown_dtype',
  'too_many_tensors',
  'offsets_reversed',
  'tensors_overlap',
  'hole_in_data',
  'shape_overflow',
  'misaligned_sub_byte',
  'size_mismatch',
  'truncated_data',
  'trailing_bytes',
  'config_not_json',
  'index_not_json',
  'index_too_large',
  'index_bad_path',
  'shard_missing',
  'tensor_wrong_shard',
  'scheme_unsupported',
  'scale_missing',
  'scale_orphan',
  'scale_shape_mismatch',
  'scale_shape_ambiguous',
  'scale_dtype_unknown',
  'scale_conflict',
  'scale_zero',
  'scale_negative',
  'scale_infinite',
  'scale_nan',
  'scale_on_float_weight',
  'marker_conflict',
  'marker_unreadable',
  'layout_undecided',
  'packed_undecided',
  'nibble_order_undecided',
  'scale_order_undecided',
  'zero_point_undecided',
  'magnitude_implausible',
  'global_scale_missing',
  'payload_shape_mismatch',
  'output_name_taken',
  'f16_overflow',
  'recipe_unsupported',
  'target_required',
  'invalid_option',
  'unknown_assumption',
  'nothing_to_convert',
  'source_changed',
  'resume_refused',
  'verify_failed',
  'out_of_memory',
  'read_failed',
  'write_failed',
  'download_lost',
  'no_space',
  'output_exists',
  'not_found',
  'choice_needed',
  'no_sink',
  'cancelled',
  'wrong_state',
  'core_crash',
  'bad_address',
  'offline',
  'cors_blocked',
  'range_unsupported',
  'login_required',
  'access_denied',
  'rate_limited',
  'server_failed',
  'bad_answer',
  'timed_out',
  'connection_lost',
  'hash_mismatch',
  'leading_whitespace',
  'unusual_padding',
  'unknown_field',
  'metadata_null',
  'escaped_spelling',
  'nul_in_name',
  'tensor_missing',
  'tensor_unlisted',
  'shard_extra',
  'part_of_set',
  'beside_set',
  'total_size_wrong',
  'bool_not_canonical',
  'large_header',
  'unscaled_fp8',
  'assumed_block_size',
  'per_column_scale',
  'fused_parts',
  'config_disagrees',
  'dummy_scale',
  'untied_head_missing',
  'nan_codes',
  'format_added',
] as const;

/** What a server or the way to it does: it says nothing about a checkpoint. */
export const SERVER_CODES = [
  'bad_address',
  'offline',
  'cors_blocked',
  'range_unsupported',
  'login_required',
  'access_denied',
  'rate_limited',
  'server_failed',
  'bad_answer',
  'timed_out',
  'connection_lost',
  'hash_mismatch',
] as const satisfies readonly ErrorCode[];

export type ErrorCode = (typeof ERROR_CODES)[number];

export function isErrorCode(word: string): word is ErrorCode {
  return (ERROR_CODES as readonly string[]).includes(word);
}

/** A plain object that survives structured clone; errors themselves do not everywhere. */
export interface ErrorObject {
  code: ErrorCode;
  where: string;
  message: string;
}

/** Bad input or a bad environment: expected, shown to the user once. */
export class CoreError extends Error {
  readonly code: ErrorCode;
  readonly where: string;

  constructor(code: ErrorCode, where: string, message: string) {
    super(message);
    this.name = 'CoreError';
    this.code = code;
    this.where = where;
  }

  toObject(): ErrorObject {
    return { code: this.code, where: this.where, message: this.message };
  }

  static from(object: ErrorObject): CoreError {
    return new CoreError(object.code, object.where, object.message);
  }
}

/** A trap in wasm or an exception nobody foresaw: the worker that had it is thrown away. */
export class CoreCrash extends CoreError {
  constructor(message: string) {
    super('core_crash', '', message);
    this.name = 'CoreCrash';
  }
}

/** Any thrown value as the one kind of error the product shows. */
export function toCoreError(thrown: unknown): CoreError {
  if (thrown instanceof CoreError) return thrown;
  return new CoreCrash(thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown));
}
