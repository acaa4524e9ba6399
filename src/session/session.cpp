#include "session/session.h"

#include "base/json_writer.h"
#include "plan/output_files.h"
#include "quant/lost_scales.h"
#include "session/options.h"
#include "session/preview_job.h"
#include "session/ram_reply.h"
#include "session/replies.h"
#include "session/scan_job.h"
#include "session/verify_job.h"

namespace wb {

Reply Session::refuse(const Error& error) {
  reply_ = error_reply(error);
  return Reply::error;
}

// 1. What is to be opened.

Reply Session::add_source(std::string_view name, uint64_t size_bytes) {
  if (inspected_ || job_)
    return refuse({Errc::wrong_state, std::string(name), "sources are added before the first job"});
  Source source;
  source.name = name;
  source.size_bytes = size_bytes;
  sources_.push_back(std::move(source));
  reply_ = "{}";
  return Reply::ok;
}

Reply Session::read_sparingly() {
  if (inspected_ || job_) return refuse({Errc::wrong_state, {}, "how to read is said before the first job"});
  sparing_ = true;
  reply_ = "{}";
  return Reply::ok;
}

Reply Session::add_side_file(std::string_view name, ByteView text) {
  if (inspected_ || job_)
    return refuse({Errc::wrong_state, std::string(name), "side files are added before the first job"});
  given_.update(text);
  const Status status = read_side_file(std::string(name), text, config_);
  if (!status) warnings_.push_back(status.error());
  read_model_config(name, text, model_);
  side_file_ = Buffer();
  reply_ = "{}";
  return Reply::ok;
}

Reply Session::add_index(std::string_view name, ByteView text, bool whole) {
  if (inspected_ || job_ || index_ || index_error_)
    return refuse({Errc::wrong_state, std::string(name), "one index is added, before the first job"});
  whole_set_ = whole;
  given_.update(text);
  auto index = parse_shard_index(std::string(name), text);
  side_file_ = Buffer();
  reply_.clear();
  JsonWriter json(reply_);
  json.begin_object().key("files").begin_array();
  if (index) {
    for (const std::string& file : index->files) json.value(std::string_view(file));
    index_ = std::move(*index);
  } else {
    index_error_ = index.error();  // the report's
  }
  json.end_array().end_object();
  return Reply::ok;
}

// 2. The job that runs, whichever it is.

Result<std::unique_ptr<Job>> Session::make_job(JobKind kind) {
  const Inventory& inventory = inspection_.inventory;
  const bool opened = inspected_ && !obstacle();
  switch (kind) {
    case JobKind::inspect: {
      if (inspected_ || sources_.empty()) break;
      return InspectJob::create(std::move(sources_), sparing_ ? kSparingScaleBytes : kSmallTensorBytes);
    }
    case JobKind::scan: {
      if (inspected_ && options_ && !opened) return tl::unexpected(*obstacle());
      if (!opened || !options_) break;
      scanned_ = false;
      return ScanJob::create(inventory, pairing_, inspection_.values, losses_, *options_);
    }
    case JobKind::convert: {
      if (!plan_ || !plan_->questions.empty()) break;
      converted_ = verified_ = false;
      if (resume_) break;  // rechecked first
      return Converter::create(inventory, *plan_, Converter::Mode::write,
                               std::exchange(resumption_, {}).value_or(Resumption()));
    }
    case JobKind::preview: {
      if (!opened || !options_ || preview_code_.empty()) break;
      preview_reply_.clear();
      return PreviewJob::create(inventory, pairing_, inspection_.values, *options_, preview_tensor_, preview_code_);
    }
    case JobKind::verify: {
      if (!converted_ || !hashed_) break;
      return VerifyJob::create(plan_->output_bytes, output_hash_,
                               {Errc::verify_failed,
                                {},
                                "the bytes on disk are not those that were computed; the file is not to be trusted"});
    }
    case JobKind::recheck: {
      if (!resume_) break;
      return VerifyJob::create(
          resume_->mark.bytes, resume_->mark.hash,
          {Errc::resume_refused, {}, "the bytes that the interrupted conversion left are not those that it computed"});
    }
  }
  return fail(Errc::wrong_state, {}, "this job does not fit what the session is doing");
}

// A job that was abandoned leaves nothing behind; it must not outlive the plan and options it refers to.
void Session::abandon_job() {
  job_.reset();
  outstanding_.clear();
}

JobStep Session::begin(JobKind kind) {
  abandon_job();
  auto job = make_job(kind);
  if (!job) {
    refuse(job.error());
    return JobStep::failed;
  }
  job_ = std::move(*job);
  job_kind_ = kind;
  return settle(job_->begin());
}

std::optional<Window> Session::next_read() {
  if (!job_) return std::nullopt;
  const auto window = job_->next_read();
  if (window) outstanding_.push_back(*window);
  return window;
}

uint8_t* Session::input(uint64_t length_bytes) {
  if (job_)
    return wants_ != JobStep::need_input || outstanding_.empty() || length_bytes > kWindowBytes ? nullptr
                                                                                                : job_->input();
  auto buffer = Buffer::create(length_bytes == 0 ? 1 : length_bytes);
  if (!buffer) return nullptr;
  side_file_ = std::move(*buffer);
  return side_file_.data();
}

JobStep Session::feed(uint64_t length_bytes) {
  if (!job_ || wants_ != JobStep::need_input || outstanding_.empty()) {
    refuse({Errc::wrong_state, {}, "bytes were fed that nobody asked for"});
    return JobStep::failed;
  }
  const Window window = outstanding_.front();
  outstanding_.pop_front();
  if (length_bytes != window.end - window.begin) {
    refuse({Errc::source_changed,
            {},
            "a read of " + std::to_string(window.end - window.begin) + " bytes gave " + std::to_string(length_bytes)});
    job_.reset();
    return JobStep::failed;
  }
  return settle(job_->feed());
}

ByteView Session::output() const { return job_ ? job_->output() : ByteView(); }

JobStep Session::resume() {
  if (!job_ || wants_ != JobStep::has_output) {
    refuse({Errc::wrong_state, {}, "there is no job to resume"});
    return JobStep::failed;
  }
  return settle(job_->resume());
}

// After every step: keep what a finished job found, turn a failed one into a reply.
JobStep Session::settle(JobStep step) {
  wants_ = step;
  if (step == JobStep::failed) {
    refuse(job_->error());
    job_.reset();
  } else if (step == JobStep::done) {
    finish(job_kind_);
    job_.reset();
    reply_ = "{}";
  }
  return step;
}

void Session::finish(JobKind kind) {
  switch (kind) {
    case JobKind::inspect:
      inspection_ = std::move(static_cast<InspectJob&>(*job_).result());
      inspected_ = true;
      finish_inspection();
      break;
    case JobKind::scan:
      check_scale_values(inspection_.inventory, inspection_.values, pairing_);
      scanned_ = true;
      break;
    case JobKind::convert:
      outcomes_ = static_cast<Converter&>(*job_).outcomes();
      output_hash_ = static_cast<Converter&>(*job_).output_hash();
      converted_ = hashed_ = true;
      break;
    case JobKind::preview:
      preview_reply_ = previews_reply(preview_tensor_, preview_code_, static_cast<PreviewJob&>(*job_).previews());
      break;
    case JobKind::verify: verified_ = true; break;
    case JobKind::recheck:
      resumption_ = Resumption{resume_->mark.step, resume_->mark.bytes,
                               std::move(static_cast<VerifyJob&>(*job_).hash()), std::move(resume_->outcomes)};
      resume_.reset();
      break;
  }
}

// Pairs, and the set. A set that is not whole is refused too, but what is there is still paired and shown.
void Session::finish_inspection() {
  const Inventory& inventory = inspection_.inventory;
  if (inspection_.refusal) {
    pairing_.roles.assign(inventory.tensors.size(), Role::parameter);
    pairing_.pair_of.assign(inventory.tensors.size(), -1);
  } else {
    pairing_ = find_pairs(inventory, config_, inspection_.values);
  }
  model_.quant_method = config_.method;
  identify(inventory, pairing_, model_);
  if (index_error_ && !inspection_.refusal) inspection_.refusal = index_error_;
  if (!index_) return;
  for (Error& warning : index_->warnings) warnings_.push_back(std::move(warning));
  set_ = check_set(std::move(*index_), inventory, whole_set_);
  index_.reset();
  if (inspection_.refusal) return;  // with a file unread, what the index says proves nothing
  name_lost_scales(inventory, *set_, pairing_);
  for (Error& warning : set_warnings(*set_)) warnings_.push_back(std::move(warning));
  inspection_.refusal = set_refusal(*set_);
}

// What stands against a conversion of what was opened; missing shards may be accepted.
const Error* Session::obstacle() const {
  if (!inspection_.refusal) return nullptr;
  const bool accepted = inspection_.refusal->code == Errc::shard_missing && options_ && options_->partial_set;
  return accepted ? nullptr : &*inspection_.refusal;
}

// 3. What was found.

Reply Session::report() {
  if (!inspected_) return refuse({Errc::wrong_state, {}, "nothing was inspected yet"});
  reply_ = report_reply(inspection_, pairing_, config_, model_, warnings_, set_ ? &*set_ : nullptr);
  return Reply::ok;
}

Reply Session::tensors(uint64_t first, uint64_t count) {
  tensors_reply(inspection_, pairing_, first, count, reply_);
  return Reply::ok;
}

Reply Session::pairs(uint64_t first, uint64_t count) {
  pairs_reply(inspection_, pairing_, first, count, reply_);
  return Reply::ok;
}

Reply Session::ram(std::string_view request) {
  auto reply = ram_reply(request);
  if (!reply) return refuse(reply.error());
  reply_ = std::move(*reply);
  return Reply::ok;
}

// 4. What is to be done about it.

Reply Session::set_options(std::string_view json) {
  auto options = parse_options(json);
  if (!options) return refuse(options.error());
  abandon_job();
  options_ = std::move(*options);
  plan_.reset();
  resume_.reset();
  resumption_.reset();
  scanned_ = converted_ = verified_ = false;
  reply_ = "{}";
  return Reply::ok;
}

Reply Session::plan() {
  if (const Error* error = obstacle()) return refuse(*error);
  if (!scanned_) return refuse({Errc::wrong_state, {}, "a plan needs options and a finished scan"});
  abandon_job();
  const std::string_view set_question = errc_name(Errc::shard_missing);
  if (options_->partial_set && !inspection_.refusal)
    return refuse({Errc::unknown_assumption, std::string(set_question), "no shard is missing"});
  options_->index_name = set_ ? set_->index : std::string();
  auto plan = make_plan(inspection_.inventory, pairing_, inspection_.values, losses_, *options_);
  if (!plan) return refuse(plan.error());
  if (options_->partial_set) plan->assumed.push_back({std::string(set_question), "partial", set_->missing_tensors()});
  plan_ = std::move(*plan);
  resume_.reset();
  resumption_.reset();
  converted_ = verified_ = false;
  const bool open = !plan_->questions.empty();
  reply_ = open ? decisions_reply(*plan_)
                : plan_reply(*plan_, plan_fingerprint(inspection_.inventory, *plan_, given_.digest()));
  return open ? Reply::decisions : Reply::ok;
}

Reply Session::set_preview(std::string_view tensor, std::string_view code) {
  if (!inspected_ || inspection_.refusal) return refuse({Errc::wrong_state, {}, "there is nothing to look at yet"});
  abandon_job();
  preview_tensor_ = tensor;
  preview_code_ = code;
  reply_ = "{}";
  return Reply::ok;
}

Reply Session::preview() {
  if (preview_reply_.empty()) return refuse({Errc::wrong_state, {}, "no preview was made"});
  reply_ = preview_reply_;
  return Reply::ok;
}

Reply Session::output_index() {
  if (!plan_ || plan_->index_name.empty()) return refuse({Errc::wrong_state, {}, "the output has no index"});
  reply_ = index_text(*plan_);
  return Reply::ok;
}

// A conversion that an earlier run did not finish.

Reply Session::mark(uint64_t first_step) {
  if (!job_ || job_kind_ != JobKind::convert) return refuse({Errc::wrong_state, {}, "nothing is being converted"});
  const auto& converter = static_cast<const Converter&>(*job_);
  reply_ = mark_reply(converter.mark(), converter.outcomes(), first_step);
  return Reply::ok;
}

Reply Session::resume_at(std::string_view mark) {
  if (!plan_ || !plan_->questions.empty()) return refuse({Errc::wrong_state, {}, "there is no plan to go on with"});
  abandon_job();
  resumption_.reset();
  auto point = parse_mark(mark, *plan_);
  if (!point) return refuse(point.error());
  resume_ = std::move(*point);
  reply_ = "{}";
  return Reply::ok;
}

// A plan of copies, done by the host.

Reply Session::copies(uint64_t first, uint64_t count) {
  if (!plan_is_copies()) return refuse({Errc::wrong_state, {}, "the plan is not one of copies only"});
  reply_ = copies_reply(inspection_.inventory, *plan_, first, count);
  return Reply::ok;
}

Reply Session::output_header(uint64_t file) {
  if (!plan_ || file >= plan_->files.size()) return refuse({Errc::wrong_state, {}, "there is no such output file"});
  reply_ = plan_->files[static_cast<size_t>(file)].header;
  return Reply::ok;
}

Reply Session::copied(bool verified) {
  if (!plan_is_copies()) return refuse({Errc::wrong_state, {}, "the plan is not one of copies only"});
  abandon_job();
  outcomes_.assign(plan_->steps.size(), {});
  converted_ = true;
  hashed_ = false;
  verified_ = verified;
  reply_ = "{}";
  return Reply::ok;
}

// 5. What was done.

Reply Session::receipt() {
  if (!converted_) return refuse({Errc::wrong_state, {}, "nothing was converted yet"});
  reply_ = receipt_reply(inspection_, *plan_, {outcomes_, output_hash_, hashed_, verified_});
  return Reply::ok;
}

}  // namespace wb
