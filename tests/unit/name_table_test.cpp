#include "base/name_table.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace wb;

namespace {

struct Named {
  std::vector<std::string> names;
  NameTable table;

  auto name_of() const {
    return [this](uint32_t i) -> std::string_view { return names[i]; };
  }
  auto build() { return table.build(static_cast<uint32_t>(names.size()), name_of()); }
  int64_t find(std::string_view name) const { return table.find(name, name_of()); }
};

}  // namespace

TEST_CASE("name table: finds every name that was entered and no other") {
  for (const uint32_t count : {0u, 1u, 3u, 4u, 5u, 1000u, 20000u}) {
    Named all;
    for (uint32_t i = 0; i < count; ++i) all.names.push_back("model.layers." + std::to_string(i) + ".weight");
    CHECK_FALSE(all.build());
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count; ++i) {
      wrong += all.find(all.names[i]) != i;
      wrong += all.find(all.names[i] + "_scale") != -1;
      wrong += all.find(all.names[i].substr(0, all.names[i].size() - 1)) != -1;
    }
    CHECK(wrong == 0);
    CHECK(all.find("") == -1);
  }
  CHECK(Named{}.find("before build") == -1);
}

TEST_CASE("name table: the first name that stands twice, with both places") {
  Named all{{"b", "a", "c", "a", "b", "a"}, {}};
  CHECK(all.build() == std::pair<uint32_t, uint32_t>(1, 3));
  CHECK(all.find("a") == 1);
  CHECK(all.find("b") == 0);
  CHECK(all.find("c") == 2);
  Named odd{{"", std::string("a\0b", 3), "a", ""}, {}};
  CHECK(odd.build() == std::pair<uint32_t, uint32_t>(0, 3));
  CHECK(odd.find(std::string_view("a\0b", 3)) == 1);
}

TEST_CASE("name table: built again it knows only the new names") {
  Named all{{"a", "b"}, {}};
  CHECK_FALSE(all.build());
  all.names = {"c"};
  CHECK_FALSE(all.build());
  CHECK(all.find("c") == 0);
  CHECK(all.find("a") == -1);
}

TEST_CASE("name table: the seed depends on the names, so chosen collisions do not stay") {
  CHECK(name_hash("a", 0) != name_hash("a", 1));
  CHECK(name_hash("a", 0) != name_hash("b", 0));
  CHECK(name_hash("", 0) == 0xEF46DB3751D8E999);  // XXH64 of nothing, by its specification
}
