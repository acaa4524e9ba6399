#include "session/inspect_job.h"

#include <algorithm>

#include "safetensors/sniff.h"

namespace wb {

Result<std::unique_ptr<InspectJob>> InspectJob::create(std::vector<Source> sources, uint64_t scale_bytes_max) {
  auto job = std::make_unique<InspectJob>();
  job->scale_bytes_max_ = scale_bytes_max;
  WB_TRY(job->window_, Buffer::create(kWindowBytes));
  for (Source& source : sources) {
    job->headings_.emplace_back();
    job->headings_.back().source = std::move(source);
  }
  return job;
}

JobStep InspectJob::begin() {
  for (Heading& heading : headings_) {
    if (heading.source.size_bytes == 0) refuse(heading, *sniff({}, 0));
  }
  return advance();
}

std::optional<Window> InspectJob::next_read() {
  if (small_reader_) return small_reader_->next_read();
  for (size_t i = 0; i < headings_.size(); ++i) {
    Heading& heading = headings_[i];
    if (heading.finished) continue;
    Window window{static_cast<int32_t>(i), 0, 0};
    if (!heading.first_read) {
      heading.first_read = true;
      window.end = std::min(heading.source.size_bytes, kFirstReadBytes);
    } else if (heading.known && heading.planned < heading.source.header_bytes) {
      window.begin = 8 + heading.planned;
      window.end = 8 + std::min(heading.source.header_bytes, heading.planned + kWindowBytes);
      heading.planned = window.end - 8;
    } else {
      continue;
    }
    pending_.push_back(window);
    return window;
  }
  return std::nullopt;
}

uint8_t* InspectJob::input() { return small_reader_ ? small_reader_->input() : window_.data(); }

JobStep InspectJob::feed() {
  if (small_reader_) {
    // Every small tensor fits one window whole, so offsets are always 0.
    small_reader_->feed([this](size_t range, uint64_t, ByteView bytes) {
      result_.values.take(result_.inventory, small_[range], bytes, result_.warnings);
    });
    return small_reader_->finished() ? JobStep::done : JobStep::need_input;
  }
  const Window window = pending_.front();
  pending_.pop_front();
  Heading& heading = headings_[static_cast<size_t>(window.source)];
  const ByteView bytes(window_.data(), static_cast<size_t>(window.end - window.begin));
  if (window.begin == 0) {
    take_first(heading, bytes);
  } else if (!heading.finished) {
    take_header(heading, bytes);
  }
  return advance();
}

JobStep InspectJob::advance() {
  if (finished_ < headings_.size()) return JobStep::need_input;
  return finish_headers();
}

void InspectJob::refuse(Heading& heading, Error error) {
  if (error.where.empty()) error.where = heading.source.name;
  if (!result_.refusal) result_.refusal = std::move(error);
  heading.finished = true;
  ++finished_;
}

// Rules 1..7: the framing. What is not safetensors is named for what it is.
void InspectJob::take_first(Heading& heading, ByteView bytes) {
  const uint64_t size = heading.source.size_bytes;
  const auto what = sniff(bytes.first(std::min<size_t>(bytes.size(), kSniffBytes)), size);
  if (size < 8) {
    return refuse(heading, what && what->code != Errc::zero_filled
                               ? *what
                               : Error{Errc::file_too_short,
                                       {},
                                       "the file has " + std::to_string(size) +
                                           " bytes, too short to hold the 8-byte header length"});
  }
  const auto header_bytes = load_le<uint64_t>(bytes.data());
  if (header_bytes > kHeaderBytesMax) {
    return refuse(heading,
                  what.value_or(Error{Errc::header_too_large,
                                      {},
                                      "the first 8 bytes say that the header has " + std::to_string(header_bytes) +
                                          " bytes; the limit is " + std::to_string(kHeaderBytesMax) +
                                          ". Most likely this is not a safetensors file"}));
  }
  if (header_bytes > size - 8) {
    return refuse(heading,
                  Error{Errc::truncated_header,
                        {},
                        "the file is truncated inside the header: it should have " + std::to_string(header_bytes) +
                            " bytes, only " + std::to_string(size - 8) + " remain"});
  }
  if (header_bytes == 0) {
    return refuse(heading, what && what->code == Errc::zero_filled
                               ? *what
                               : Error{Errc::header_not_json, {}, "the header has length 0"});
  }
  heading.source.header_bytes = header_bytes;
  heading.source.data_bytes = size - 8 - header_bytes;
  auto text = Buffer::create(header_bytes);
  if (!text) return refuse(heading, std::move(text.error()));
  heading.text = std::move(*text);
  heading.known = true;
  const uint64_t here = std::min<uint64_t>(header_bytes, bytes.size() - 8);
  heading.planned = here;
  take_header(heading, bytes.subspan(8, static_cast<size_t>(here)));
}

void InspectJob::take_header(Heading& heading, ByteView bytes) {
  std::copy(bytes.begin(), bytes.end(), heading.text.data() + heading.filled);
  heading.filled += bytes.size();
  if (heading.filled == heading.source.header_bytes) finish_header(heading);
}

void InspectJob::finish_header(Heading& heading) {
  heading.header = parse_header(heading.text.view());
  heading.text = Buffer();
  // Layout is only meaningful when every entry was read.
  const bool whole = !heading.header.error || heading.header.error->code == Errc::unknown_dtype ||
                     heading.header.error->code == Errc::duplicate_tensor ||
                     heading.header.error->code == Errc::duplicate_key;
  if (whole) validate_layout(heading.header, heading.source.header_bytes, heading.source.data_bytes);
  if (heading.source.header_bytes > kHeaderBytesNote) {
    heading.header.warnings.push_back(
        {Errc::large_header, {}, "the header has " + std::to_string(heading.source.header_bytes) + " bytes"});
  }
  if (heading.header.error) return refuse(heading, *heading.header.error);
  heading.finished = true;
  ++finished_;
}

// "a.safetensors and b.safetensors", of a tensor that stands in two of them.
static std::string files_that_hold(const Inventory& inventory, std::string_view tensor) {
  std::string names;
  for (const Tensor& each : inventory.tensors) {
    if (each.name == tensor) names += (names.empty() ? "" : " and ") + inventory.sources[each.source].name;
  }
  return names;
}

JobStep InspectJob::finish_headers() {
  Inventory& inventory = result_.inventory;
  for (Heading& heading : headings_) {
    for (Error& warning : heading.header.warnings) result_.warnings.push_back(std::move(warning));
    inventory.add(std::move(heading.source), std::move(heading.header));
  }
  const std::string_view twice = inventory.build_index();
  if (!twice.empty() && !result_.refusal) {
    result_.refusal = Error{Errc::duplicate_tensor, std::string(twice),
                            "`" + std::string(twice) + "` stands in " + files_that_hold(inventory, twice)};
  }
  if (inventory.tensors.size() > kTensorsMax && !result_.refusal) {
    result_.refusal =
        Error{Errc::too_many_tensors,
              {},
              std::to_string(inventory.tensors.size()) + " tensors; the limit is " + std::to_string(kTensorsMax)};
  }
  headings_.clear();
  if (result_.refusal) return JobStep::done;

  small_ = SmallValues::wanted(inventory, scale_bytes_max_);
  if (small_.empty()) return JobStep::done;
  std::vector<Range> ranges;
  for (const uint32_t index : small_) {
    const Tensor& tensor = inventory.tensors[index];
    ranges.push_back({static_cast<int32_t>(tensor.source), tensor.begin, tensor.end});
  }
  auto reader = RangeReader::create(std::move(ranges));
  if (!reader) return failed(std::move(reader.error()));
  small_reader_ = std::move(*reader);
  return JobStep::need_input;
}

}  // namespace wb
