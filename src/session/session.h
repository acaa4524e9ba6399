// Session: one checkpoint from opening to receipt. The whole product as seen from outside the core;
// knows no emscripten and does no I/O. The order of calls:
//
//   1. add_source, add_side_file,
//      add_index                      what is to be opened
//   2. Job::inspect, report           headers, small tensors, pairs, RAM
//   3. set_options, Job::scan         what a conversion must know before it may be planned
//   4. plan                           exact sizes, or the decisions that only a person can take
//      set_preview, Job::preview      between 3 and 5: what a weight would look like under each answer to a question
//      resume_at, Job::recheck        where an earlier run of the same plan was interrupted: what it wrote is read back
//   5. Job::convert                   output bytes, header first; mark tells where it could be resumed
//   6. Job::verify, receipt           the output read back; what the result says about itself
//
// Every call replies with JSON that stays valid until the next call.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "convert/converter.h"
#include "convert/job.h"
#include "plan/plan.h"
#include "quant/pairs.h"
#include "ram/model_facts.h"
#include "safetensors/shard_set.h"
#include "session/inspect_job.h"
#include "session/resumption.h"

namespace wb {

/// The boundary's values (web/engine/core.ts).
enum class Reply : uint8_t { ok = 0, error = 1, decisions = 2 };
enum class JobKind : uint8_t { inspect = 0, scan = 1, convert = 2, verify = 3, preview = 4, recheck = 5 };

class Session {
 public:
  /// size_bytes < 2^53. Before Job::inspect. Errc: wrong_state.
  Reply add_source(std::string_view name, uint64_t size_bytes);
  /// The sources are far away: inspecting reads no scale longer than kSparingScaleBytes. Errc: wrong_state.
  Reply read_sparingly();
  /// config.json and the like; one that cannot be read becomes a warning. Errc: wrong_state.
  Reply add_side_file(std::string_view name, ByteView text);
  /// model.safetensors.index.json; one that cannot be used refuses the input. `whole`: the sources are the
  /// set, else shards opened on purpose without the others. Replies {"files": [names]}, without names when the
  /// index is bad. Errc: wrong_state.
  Reply add_index(std::string_view name, ByteView text, bool whole);
  /// Errc: target_required, invalid_option, wrong_state.
  Reply set_options(std::string_view json);

  /// What the next Job::preview is about: a tensor and the code of a question. The job's reply is the result.
  /// Errc: wrong_state.
  Reply set_preview(std::string_view tensor, std::string_view code);

  JobStep begin(JobKind kind);
  std::optional<Window> next_read();
  /// Where the oldest window's bytes go; without a job, where a side file of that length goes.
  /// Null when out of memory.
  uint8_t* input(uint64_t length_bytes);
  /// length_bytes must be the window's, else source_changed.
  JobStep feed(uint64_t length_bytes);
  ByteView output() const;
  JobStep resume();

  Reply report();
  Reply tensors(uint64_t first, uint64_t count);
  Reply pairs(uint64_t first, uint64_t count);
  Reply plan();
  /// Of a plan of copies only, which the host carries out itself: where each tensor stands, a file's header, and
  /// that it is done. Errc: wrong_state.
  Reply copies(uint64_t first, uint64_t count);
  Reply output_header(uint64_t file);
  Reply copied(bool verified);
  /// During Job::convert: after the last whole tensor of the output so far (resumption.h). Errc: wrong_state.
  Reply mark(uint64_t first_step);
  /// Job::recheck and then Job::convert go on from a mark of an earlier run. Errc: wrong_state, resume_refused.
  Reply resume_at(std::string_view mark);
  /// After Job::preview. Errc: wrong_state.
  Reply preview();
  Reply receipt();
  /// The text of the output's index; needs a plan that has one. Errc: wrong_state.
  Reply output_index();

  /// What loading costs (ram_reply.h); asks for nothing that is open. Errc: invalid_option.
  Reply ram(std::string_view request);

  std::string_view reply() const { return reply_; }

 private:
  Result<std::unique_ptr<Job>> make_job(JobKind kind);
  JobStep settle(JobStep step);
  void finish(JobKind kind);
  void finish_inspection();
  const Error* obstacle() const;
  bool plan_is_copies() const { return plan_ && plan_->questions.empty() && copies_only(*plan_); }
  Reply refuse(const Error& error);
  void abandon_job();

  std::vector<Source> sources_;
  QuantConfig config_;
  ModelFacts model_;
  std::vector<Error> warnings_;  // about side files
  Hash given_;                   // of the side files
  Buffer side_file_;
  std::optional<ShardIndex> index_;  // until it is compared with the shards
  std::optional<Error> index_error_;
  bool whole_set_ = true;
  bool sparing_ = false;

  bool inspected_ = false;
  Inspection inspection_;
  Pairing pairing_;
  std::optional<ShardSet> set_;

  std::optional<PlanOptions> options_;
  bool scanned_ = false;
  F16Losses losses_;
  std::optional<Plan> plan_;

  std::unique_ptr<Job> job_;
  JobKind job_kind_ = JobKind::inspect;
  JobStep wants_ = JobStep::done;   // what the job asked for last; nothing else may be done
  std::deque<Window> outstanding_;  // handed out and not fed

  std::string preview_tensor_;
  std::string preview_code_;
  std::string preview_reply_;

  std::optional<ResumePoint> resume_;     // until it was rechecked
  std::optional<Resumption> resumption_;  // until the conversion that goes on

  bool converted_ = false;
  bool hashed_ = true;
  bool verified_ = false;
  std::vector<StepOutcome> outcomes_;
  uint64_t output_hash_ = 0;

  std::string reply_;
};

}  // namespace wb
