// Output files: which step is written into which file, the files' names, their headers, and the index.
#pragma once

#include <string>

#include "plan/plan.h"

namespace wb {

/// Puts the steps into write order, file by file, and fills in plan.files, plan.index_name and plan.output_bytes.
/// Errc: header_too_large, invalid_option (more files than an index may name).
Status lay_out_files(const Inventory& inventory, const PlanOptions& options, const Metadata& metadata, Plan& plan);

/// How many files begin with `step` or before it.
size_t files_begun(const Plan& plan, uint32_t step);

/// Where the bytes of `step` begin in the output; all of it for the step after the last.
uint64_t bytes_before(const Plan& plan, uint32_t step);

/// The text of the output's index, as huggingface_hub writes it: sorted, two spaces of indent.
std::string index_text(const Plan& plan);

}  // namespace wb
