#include "ram/timeline.h"

namespace wb {

std::string_view term_kind_name(TermKind kind) {
  constexpr std::string_view kNames[] = {"file_pages", "anonymous", "device", "transient"};
  return kNames[static_cast<uint8_t>(kind)];
}

namespace {

template <class Test>
uint64_t sum_where(const std::vector<MemoryTerm>& terms, Test test) {
  uint64_t total = 0;
  for (const MemoryTerm& term : terms) total += test(term) ? term.bytes : 0;
  return total;
}

}  // namespace

uint64_t MemoryStage::ram_bytes() const {
  return sum_where(terms, [](const MemoryTerm& term) { return term.in_ram(); });
}

uint64_t MemoryStage::firm_bytes() const {
  return sum_where(terms, [](const MemoryTerm& term) { return term.is_firm(); });
}

uint64_t MemoryStage::file_pages() const { return ram_bytes() - firm_bytes(); }

uint64_t MemoryStage::device_bytes() const {
  return sum_where(terms, [](const MemoryTerm& term) { return !term.in_ram(); });
}

uint64_t MemoryStage::lasting_bytes() const {
  return sum_where(terms, [](const MemoryTerm& term) { return term.in_ram() && term.kind != TermKind::transient; });
}

size_t highest(const Stages& stages, uint64_t (MemoryStage::*measure)() const) {
  size_t best = 0;
  for (size_t i = 1; i < stages.size(); ++i) {
    if ((stages[i].*measure)() > (stages[best].*measure)()) best = i;
  }
  return best;
}

}  // namespace wb
