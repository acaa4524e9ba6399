// Embind registration of Session; the only file that includes emscripten, and nothing clever.
// Sizes and offsets cross as doubles, which are exact below 2^53; a larger one is refused here.
#include <emscripten/bind.h>

#include "session/session.h"

namespace {

using wb::JobKind;
using wb::Window;

constexpr double kExactMax = 9007199254740991.0;  // 2^53 - 1

bool exact(double number) { return number >= 0 && number <= kExactMax; }

double pointer(const void* address) { return static_cast<double>(reinterpret_cast<uintptr_t>(address)); }

class SessionBinding {
 public:
  int add_source(const std::string& name, double size_bytes) {
    if (!exact(size_bytes)) return static_cast<int>(wb::Reply::error);
    return static_cast<int>(session_.add_source(name, static_cast<uint64_t>(size_bytes)));
  }
  int read_sparingly() { return static_cast<int>(session_.read_sparingly()); }
  int add_side_file(const std::string& name, double length_bytes) {
    if (!input_ || !exact(length_bytes) || length_bytes > input_bytes_) return static_cast<int>(wb::Reply::error);
    return static_cast<int>(session_.add_side_file(name, {input_, static_cast<size_t>(length_bytes)}));
  }
  int add_index(const std::string& name, double length_bytes, bool whole) {
    if (!input_ || !exact(length_bytes) || length_bytes > input_bytes_) return static_cast<int>(wb::Reply::error);
    return static_cast<int>(session_.add_index(name, {input_, static_cast<size_t>(length_bytes)}, whole));
  }
  int set_options(const std::string& json) { return static_cast<int>(session_.set_options(json)); }

  int set_preview(const std::string& tensor, const std::string& code) {
    return static_cast<int>(session_.set_preview(tensor, code));
  }

  int begin(int job) { return static_cast<int>(session_.begin(static_cast<JobKind>(job))); }
  bool next_read() {
    const auto window = session_.next_read();
    if (window) window_ = *window;
    return window.has_value();
  }
  int read_source() const { return window_.source; }
  double read_begin() const { return static_cast<double>(window_.begin); }
  double read_end() const { return static_cast<double>(window_.end); }
  double in_ptr(double length_bytes) {
    input_ = exact(length_bytes) ? session_.input(static_cast<uint64_t>(length_bytes)) : nullptr;
    input_bytes_ = length_bytes;
    return pointer(input_);
  }
  int feed(double length_bytes) {
    return static_cast<int>(session_.feed(exact(length_bytes) ? static_cast<uint64_t>(length_bytes) : 0));
  }
  double out_ptr() const { return pointer(session_.output().data()); }
  double out_length() const { return static_cast<double>(session_.output().size()); }
  int resume() { return static_cast<int>(session_.resume()); }

  int report() { return static_cast<int>(session_.report()); }
  int tensors(double first, double count) { return page(first, count, &wb::Session::tensors); }
  int pairs(double first, double count) { return page(first, count, &wb::Session::pairs); }
  int ram(const std::string& request) { return static_cast<int>(session_.ram(request)); }
  int plan() { return static_cast<int>(session_.plan()); }
  int preview() { return static_cast<int>(session_.preview()); }
  int receipt() { return static_cast<int>(session_.receipt()); }
  int copies(double first, double count) { return page(first, count, &wb::Session::copies); }
  int output_header(double file) {
    return static_cast<int>(exact(file) ? session_.output_header(static_cast<uint64_t>(file)) : wb::Reply::error);
  }
  int mark(double first_step) {
    return static_cast<int>(exact(first_step) ? session_.mark(static_cast<uint64_t>(first_step)) : wb::Reply::error);
  }
  int resume_at(const std::string& mark) { return static_cast<int>(session_.resume_at(mark)); }
  int copied(bool verified) { return static_cast<int>(session_.copied(verified)); }
  int output_index() { return static_cast<int>(session_.output_index()); }
  double reply_ptr() const { return pointer(session_.reply().data()); }
  double reply_length() const { return static_cast<double>(session_.reply().size()); }

 private:
  int page(double first, double count, wb::Reply (wb::Session::*rows)(uint64_t, uint64_t)) {
    if (!exact(first) || !exact(count)) return static_cast<int>(wb::Reply::error);
    return static_cast<int>((session_.*rows)(static_cast<uint64_t>(first), static_cast<uint64_t>(count)));
  }

  wb::Session session_;
  Window window_;
  uint8_t* input_ = nullptr;
  double input_bytes_ = 0;
};

}  // namespace

EMSCRIPTEN_BINDINGS(weighbridge) {
  emscripten::class_<SessionBinding>("Session")
      .constructor<>()
      .function("addSource", &SessionBinding::add_source)
      .function("readSparingly", &SessionBinding::read_sparingly)
      .function("addSideFile", &SessionBinding::add_side_file)
      .function("addIndex", &SessionBinding::add_index)
      .function("setOptions", &SessionBinding::set_options)
      .function("setPreview", &SessionBinding::set_preview)
      .function("begin", &SessionBinding::begin)
      .function("nextRead", &SessionBinding::next_read)
      .function("readSource", &SessionBinding::read_source)
      .function("readBegin", &SessionBinding::read_begin)
      .function("readEnd", &SessionBinding::read_end)
      .function("inPtr", &SessionBinding::in_ptr)
      .function("feed", &SessionBinding::feed)
      .function("outPtr", &SessionBinding::out_ptr)
      .function("outLength", &SessionBinding::out_length)
      .function("resume", &SessionBinding::resume)
      .function("report", &SessionBinding::report)
      .function("tensors", &SessionBinding::tensors)
      .function("pairs", &SessionBinding::pairs)
      .function("ram", &SessionBinding::ram)
      .function("plan", &SessionBinding::plan)
      .function("preview", &SessionBinding::preview)
      .function("receipt", &SessionBinding::receipt)
      .function("copies", &SessionBinding::copies)
      .function("outputHeader", &SessionBinding::output_header)
      .function("mark", &SessionBinding::mark)
      .function("resumeAt", &SessionBinding::resume_at)
      .function("copied", &SessionBinding::copied)
      .function("outputIndex", &SessionBinding::output_index)
      .function("replyPtr", &SessionBinding::reply_ptr)
      .function("replyLength", &SessionBinding::reply_length);
}
