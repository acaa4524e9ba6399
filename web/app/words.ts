// Every code of web/engine/errors.ts as a sentence for a person: what it is, then what to do about it.
// The particulars (names, numbers) stand in the core's own message beside it.
import type { ErrorCode } from '../engine/errors';
import type { Recipe } from '../engine/report';

export const RECIPE_SAYS: Record<Recipe, string> = {
  'f32-mul-rne': 'Multiplied in float32, rounded once (to nearest, ties to even). The most precise.',
  'target-mul-rne':
    'The scale is rounded to the target first, as loaders do that multiply in bf16 or fp16 themselves. Matches them bit by bit.',
};

export const WORDS: Record<ErrorCode, string> = {
  empty_file: 'This file is empty. The download probably never started; fetch it again.',
  file_too_short: 'This file is too short to be a checkpoint. Fetch it again.',
  git_lfs_pointer:
    'This is a Git LFS pointer, a small text that stands in for the model. Run “git lfs pull”, or download the file itself.',
  html_page:
    'This is a web page, not a model: the site most likely asked you to sign in or accept a licence. Do that in the browser, then download again.',
  xml_document: 'This is an XML answer from a server, not a model. The download link may have expired; get a new one.',
  json_document:
    'This is a JSON text, not a model. If it is an index or a config, open it together with its .safetensors files.',
  zip_archive:
    'This is a zip archive, most often a PyTorch .pt or .ckpt file under another name. Look for a .safetensors version.',
  pickle_file:
    'This is a Python pickle. Such files can run code when loaded and are not opened here. Look for a .safetensors version.',
  gguf_file: 'This is a GGUF file, made for llama.cpp. Weighbridge opens .safetensors files only.',
  other_format: 'This is a file of another format. Weighbridge opens .safetensors files only.',
  zero_filled: 'This file holds nothing but zeros: its space was reserved but never filled. Download it again.',

  header_too_large:
    'The header claims to be larger than the format allows. The file is damaged or is not a checkpoint; download it again.',
  truncated_header: 'The file ends in the middle of its header. The download stopped early; fetch it again.',
  header_not_utf8: 'The header is not readable text. The file is damaged; download it again.',
  header_not_json: 'The header is not the JSON it should be. The file is damaged or is of another format.',
  header_too_deep: 'The header is nested deeper than any real checkpoint. The file is damaged or made to cause harm.',
  invalid_entry: 'The header describes a tensor wrongly. Tell whoever made the file; no tool can read it safely.',
  invalid_metadata:
    'The metadata of this file must be plain texts but is not. It has to be saved again by the tool that made it.',
  duplicate_tensor:
    'Two tensors share one name, so programs would disagree about which one counts. The file has to be made anew.',
  duplicate_key:
    'A field occurs twice in the header, so programs would disagree about it. The file has to be made anew.',
  unknown_dtype: 'The file uses a number type that this version does not know. A newer Weighbridge may.',
  too_many_tensors: 'The file holds more tensors than Weighbridge accepts.',

  offsets_reversed: 'A tensor ends before it begins. The header is damaged; download the file again.',
  tensors_overlap: 'Two tensors claim the same bytes. The file is damaged or was written wrongly.',
  hole_in_data:
    'There are bytes between tensors that belong to none. The format forbids it; the file was written wrongly.',
  shape_overflow: 'A tensor claims an impossible size. The header is damaged.',
  misaligned_sub_byte: 'A tensor of 4- or 6-bit numbers does not fill whole bytes. The file was written wrongly.',
  size_mismatch: 'A tensor has more or fewer bytes than its shape needs. The file is damaged or was written wrongly.',
  truncated_data: 'The file is shorter than its tensors. The download stopped early; fetch it again.',
  trailing_bytes: 'There are bytes after the last tensor. Two files may have been joined, or the download went wrong.',

  config_not_json: 'The config file beside the model cannot be read. Get it again, or open the model without it.',
  index_not_json: 'The index of the shards cannot be read. Get it again from where the model came from.',
  index_too_large: 'The index of the shards is larger than any real one. Get a clean copy.',
  index_bad_path: 'The index of the shards points outside its own folder. Do not trust it; get a clean copy.',
  shard_missing: 'A part of the model is missing. Choose all of its files together.',
  tensor_wrong_shard:
    'The index says that tensors are in other files than they are. It belongs to another version of the model; get both from one place.',
  tensor_missing: 'The index promises a tensor that is not in the files. One of the files may be from another version.',

  scheme_unsupported: 'The weights are packed in a way that Weighbridge recognises but cannot convert yet.',
  scale_missing:
    'A quantized weight has no scale. Without it the numbers mean nothing; a part of the model may be lost.',
  scale_orphan: 'A scale belongs to no weight. A weight may be missing or have been renamed.',
  scale_shape_mismatch: 'A scale does not fit the shape of its weight in any way. The two may be from different files.',
  scale_shape_ambiguous: 'A scale fits its weight in more than one way, and the result depends on which. You decide.',
  scale_dtype_unknown: 'A scale has a number type that no scale can have.',
  scale_conflict: 'Two different scales claim the same weight. You decide which one counts.',
  scale_zero: 'A scale is zero, which would turn its whole weight into zeros. The file was probably written wrongly.',
  scale_negative: 'A scale is below zero, which would flip the sign of its weight. That is hardly ever meant.',
  scale_infinite: 'A scale is infinite, so its weight cannot be computed.',
  scale_nan: 'A scale is not a number, so its weight cannot be computed.',
  scale_on_float_weight:
    'A scale stands beside a weight that is not quantized. It may be left over, or still have to be applied. You decide.',
  marker_conflict: 'A note inside the file contradicts the tensor it describes. You decide which to believe.',
  marker_unreadable: 'A note inside the file that says how a weight is packed cannot be read.',
  layout_undecided: 'The file does not say which of two layouts it uses, and the result depends on it. You decide.',
  packed_undecided:
    'The bytes may be whole numbers or pairs of 4-bit numbers; the file does not say which. You decide.',
  nibble_order_undecided:
    'Each byte holds two 4-bit numbers, and the file does not say which comes first. The wrong order gives noise. You decide.',
  scale_order_undecided:
    'The scales may stand row by row or in tiles, and the file does not say which. The wrong order gives noise. You decide.',
  zero_point_undecided:
    'The zero points may be stored as they are or minus one, and the file does not say which. The wrong reading shifts every weight. You decide.',
  magnitude_implausible:
    'These weights would be far larger or smaller than in any trained model. The scale was probably meant the other way round. You decide.',
  global_scale_missing: 'A weight lacks one of its two scales. Without it the values cannot be known.',
  payload_shape_mismatch:
    'A packed weight does not fit the tensors that describe it. The file is damaged or of a new kind.',
  output_name_taken: 'A weight would get a name in the output that another tensor already has.',

  f16_overflow:
    'Some values are too large for fp16 and would become infinite. Choose bf16, or decide what to do with them.',
  recipe_unsupported: 'One of the weights cannot be computed in that way. Choose the usual arithmetic.',
  target_required: 'Choose bf16 or fp16 first.',
  invalid_option: 'One of the options has a value that is not offered.',
  unknown_assumption: 'An answer was given to a question that this file does not raise. Open the file again.',
  nothing_to_convert: 'Nothing in this file is quantized, so there is nothing to convert.',
  source_changed: 'The file was changed after it was opened. Open it again.',
  resume_refused:
    'The unfinished output belongs to another conversion, or its input has changed since. Convert from the beginning.',
  verify_failed: 'What was written is not what was meant to be written. Do not use the new file; try again.',

  out_of_memory: 'There was not enough memory. Close other tabs and try again.',
  read_failed: 'The file could not be read. Check that it is still there and that its disk is connected.',
  write_failed: 'The new file could not be written. Check the disk and try again, or save to another place.',
  download_lost:
    'The browser ended the download before it was whole. Delete what it saved, and save another way or try again.',
  no_space: 'There is not enough room on the disk. Free some space or save to another disk.',
  output_exists: 'The new file would overwrite a file that is being read. Choose another name.',
  not_found: 'The file is no longer there. Choose it again.',
  choice_needed: 'There are several checkpoints here. Choose one of them.',
  no_sink: 'This browser offers no way to write a file of this size. Try a current Chrome, Edge or Firefox.',
  cancelled: 'Stopped. Nothing was kept of the unfinished file.',
  wrong_state: 'Weighbridge got two requests that do not go together. Open the file again.',
  core_crash: 'Weighbridge itself failed; this is a fault of ours. Open the file again, and please report it.',

  bad_address:
    'This address names nothing that can be read. Give owner/repo, a Hugging Face page, or the https address of a .safetensors file.',
  offline: 'The server could not be reached. Check the connection and the address, then try again.',
  cors_blocked:
    'This site does not allow other web pages to read its files. Download the file, then choose it here; or use the command line.',
  range_unsupported:
    'This server does not give out parts of a file, so nothing was fetched. Download the file, then choose it here.',
  login_required:
    'The server wants to know who you are. Accept the licence on the model’s page if it has one, then give a read token.',
  access_denied:
    'The server refuses access. Most likely the licence on the model’s page is not accepted yet, or not granted.',
  rate_limited:
    'The server allows no more requests for now. Wait a few minutes and try again; a token raises the limit.',
  server_failed: 'The server has trouble of its own. Try again later.',
  bad_answer: 'The server gave an answer that makes no sense. The address may be wrong, or a proxy may be in between.',
  timed_out: 'The server stopped sending. Check the connection and try again.',
  connection_lost: 'The connection broke again and again. Check it and try again.',
  hash_mismatch:
    'What was read is not the file that its publisher stated. Nothing was kept; try again, and if it happens again do not use this file.',

  leading_whitespace: 'The header begins with white space. Most programs read it all the same.',
  unusual_padding: 'The header is filled up with something other than spaces. It does no harm.',
  unknown_field: 'The header has fields that the format does not know. They are ignored.',
  metadata_null: 'The metadata is present but empty. It counts as absent.',
  escaped_spelling: 'The header spells plain words in an unusual way. Some strict readers may stumble over it.',
  nul_in_name: 'A tensor name holds an invisible NUL character. Some programs will cut the name there.',
  tensor_unlisted: 'A file holds tensors that the index does not list. Programs that go by the index leave them out.',
  shard_extra: 'A file was opened with the set that its index does not name.',
  part_of_set: 'Only a part of a set is open.',
  beside_set: 'A file beside the set is not part of it and was not read. Open it alone to see what it holds.',
  total_size_wrong:
    'The size that the index states is not the size of the model. That harms nothing, but the index may be an old one.',
  bool_not_canonical: 'A true/false tensor holds bytes other than 0 and 1. Programs may read them differently.',
  large_header: 'The header is unusually large. Some viewers refuse to open such a file.',
  unscaled_fp8: 'The fp8 weights have no scales anywhere in the file. Their values are taken as they are.',
  assumed_block_size: 'No config states the block size; the only customary one that fits was taken.',
  per_column_scale: 'A weight is scaled by column, which is rare. Its shapes allow no other reading.',
  fused_parts: 'A joined weight has one scale for each of its parts. Which part is which follows from its name.',
  config_disagrees: 'The config contradicts the tensors. The tensors are believed.',
  dummy_scale: 'A scale of exactly 1 stands beside a weight that is not quantized. It changes nothing.',
  untied_head_missing: 'The config promises a separate output layer, but the file has none.',
  nan_codes: 'A weight holds values that are not numbers. They stay “not a number” in the new file.',
  format_added: 'The metadata did not say “format: pt”, which some programs need. The new file will.',
};
