// SPDX-License-Identifier: Apache-2.0
// Values that cannot travel: each macro enables one of the lines below; without one, none.
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <starling/objects.hpp>

namespace {

using namespace starling;

struct holder {
  int number;
  double* pointer;
};
class hidden {
 public:
  explicit hidden(int n = 0) : m_number(n) {}

 private:
  int m_number;
};
struct with_string {
  std::string name;
};
struct base {
  virtual ~base() = default;
  template <class Archive>
  void serialize(Archive&) {}
};
struct no_default {
  explicit no_default(int n) : number(n) {}
  int number;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(number);
  }
};
struct with_codec {
  int number = 0;
};
struct worker : chare<worker> {};
struct with_serialize {
  int number = 0;
  int* pointer = nullptr;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(number);
#ifdef MEMBER_OF_SERIALIZE
    ar(pointer);
#endif
  }
};

}  // namespace

template <>
struct starling::codec<with_codec> {
  static void save(output_archive& ar, const with_codec& value) { ar(value.number); }
  static with_codec load(input_archive& ar) { return {ar.read<int>()}; }
};

namespace {

[[maybe_unused]] void send([[maybe_unused]] double* p) {
  static_cast<void>(pack(1, std::string("text"), std::vector<with_serialize>(3)));
#ifdef POINTER
  static_cast<void>(pack(1, p));
#endif
#ifdef POINTER_IN_VECTOR
  static_cast<void>(pack(std::vector<double*>{p}));
#endif
#ifdef FUNCTION_POINTER
  static_cast<void>(pack(&send));
#endif
#ifdef SPAN
  static_cast<void>(pack(std::span<double>(p, 1)));
#endif
#ifdef STRING_VIEW_IN_MAP
  static_cast<void>(pack(std::map<std::string_view, int>{}));
#endif
#ifdef STRUCT_WITH_POINTER
  static_cast<void>(pack(holder{1, p}));
#endif
#ifdef PRIVATE_MEMBERS
  static_cast<void>(pack(hidden(1)));
#endif
#ifdef LAMBDA
  static_cast<void>(pack([p] { return *p; }));
#endif
#ifdef NO_DEFAULT
  static_cast<void>(pack(no_default(1)));
#endif
#ifdef STRUCT_WITH_STRING
  static_cast<void>(pack(with_string{"name"}));
#endif
#ifdef POINTER_TO_BASE
  static_cast<void>(pack(std::make_unique<base>()));
#endif
#ifdef ARRAY
  static_cast<void>(pack("text"));
#endif
#ifdef WRONG_CODEC
  static_cast<void>(pack(with_codec()));
#endif
#ifdef FUNCTION_AS_ORDER
  static_cast<void>(pack(std::map<int, int, bool (*)(int, int)>(nullptr)));
#endif
#ifdef NO_TUPLE
  static_cast<void>(unpack<int>({}));
#endif
}

}  // namespace
