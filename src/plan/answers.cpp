#include "plan/answers.h"

#include <algorithm>

namespace wb {
namespace {

bool offered(Errc code, std::string_view choice) {
  const auto all = choices();
  return std::any_of(all.begin(), all.end(),
                     [&](const Choice& row) { return row.code == code && row.choice == choice; });
}

}  // namespace

Answers::Answers(const std::vector<Assumption>& assumptions) {
  for (const Assumption& assumption : assumptions) entries_.push_back({assumption, 0, std::nullopt});
}

std::optional<std::string> Answers::answer(Errc code, const std::string& tensor, std::string_view scheme) {
  for (const std::string_view subject : {std::string_view(tensor), errc_name(code), scheme}) {
    for (Entry& entry : entries_) {
      if (entry.assumption.subject != subject) continue;
      if (!offered(code, entry.assumption.choice)) {
        // A scheme has several questions; a choice that fits none of them is caught by check().
        entry.misfit = code;
        continue;
      }
      ++entry.used;
      return entry.assumption.choice;
    }
  }
  return std::nullopt;
}

std::vector<AppliedAssumption> Answers::applied() const {
  std::vector<AppliedAssumption> list;
  for (const Entry& entry : entries_) list.push_back({entry.assumption.subject, entry.assumption.choice, entry.used});
  return list;
}

Status Answers::check() const {
  for (const Entry& entry : entries_) {
    if (entry.used > 0) continue;
    const std::string& subject = entry.assumption.subject;
    if (!entry.misfit)
      return fail(Errc::unknown_assumption, subject, "nothing about `" + subject + "` is undecided in this input");
    std::string offers;
    for (const Choice& row : choices()) {
      if (row.code == *entry.misfit) offers += (offers.empty() ? "" : ", ") + std::string(row.choice);
    }
    return fail(Errc::invalid_option, subject,
                "`" + entry.assumption.choice + "` is no answer to " + std::string(errc_name(*entry.misfit)) +
                    "; offered: " + (offers.empty() ? "none, the input cannot be decided" : offers));
  }
  return {};
}

}  // namespace wb
