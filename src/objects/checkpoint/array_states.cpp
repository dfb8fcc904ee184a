// SPDX-License-Identifier: Apache-2.0
// What a checkpoint requires of arrays and their elements.
#include <string>
#include <utility>
#include <vector>

#include <starling/core/detail/error_text.hpp>
#include <starling/core/error.hpp>
#include <starling/objects/archive.hpp>
#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/stored_element.hpp>
#include <starling/objects/error.hpp>

namespace starling::detail {
namespace {

[[noreturn]] void refuse_checkpoint(const std::string& what) {
  throw usage_error("a checkpoint cannot be taken: " + what);
}

std::string describe_coroutines(chare_core& c) {
  const chare_core::state& s = c.element_state();
  if (s.at_point == nullptr || !s.at_point->is_checkpoint)
    return " has a coroutine, which cannot be stored";
  return s.local->array->has_resumed()
             ? ": the coroutine that awaits checkpoint() has a caller, or is "
               "not the only one"
             : ": a restart cannot continue the coroutine that awaits "
               "checkpoint(), as its class "
               "has no entry method resumed()";
}

}  // namespace

void throw_cannot_be_stored(const array_base& array) {
  throw usage_error("elements of " + array.type() +
                    " cannot be stored in a checkpoint: the class needs a public "
                    "serialize(archive), and a constructor with starling::migrated or without "
                    "arguments");
}

void throw_unreadable(const std::string& chare, const std::exception_ptr& cause) {
  throw entry_error(
      "the state of " + chare + " in the checkpoint cannot be read: " + error_text(cause), cause);
}

void throw_unread_state(const std::string& chare, std::size_t bytes) {
  throw archive_error("serialize of " + chare + " has not read the last " + std::to_string(bytes) +
                      " bytes of its state in the checkpoint");
}

void save_mail(chare_core& c, output_archive& ar) {
  const mailbox& mail = c.element_state().mail;
  std::uint64_t letters = 0;
  mail.for_each_kept([&](const awaited_message&) { ++letters; });
  save_value(ar, letters);
  mail.for_each_kept([&](const awaited_message& m) {
    std::vector<std::byte> arguments;
    output_archive to(arguments);
    m.entry->save(m, to);
    save_value(ar, std::string(name_of_remote_function(m.entry->maker())));
    save_value(ar, arguments);
  });
}

void array_base::visit_for_checkpoint(local_elements& local,
                                      const std::function<void(chare_core&)>& visit) {
  if (!local.is_made) refuse_checkpoint("elements of " + m_type + " are not made yet");
  if (const std::size_t n = count_early(local))
    refuse_checkpoint(std::to_string(n) + " messages wait for elements of " + m_type +
                      " that are not inserted yet");
  if (local.reductions->has_open())
    refuse_checkpoint("some elements of " + m_type +
                      " have not contributed to a reduction to which others have");
  const auto checked = [&](chare_core& c) {
    if (c.element_state().coroutines != 0 && !c.resumes_after_restart())
      refuse_checkpoint(name_of(c) + describe_coroutines(c));
    if (has_open_transfers(c))
      refuse_checkpoint(name_of(c) + " has a channel with a transfer that has not ended");
    visit(c);
  };
  for (chare_core* c : local.elements) checked(*c);
  for (chare_core* c : tracked_on(local)) checked(*c);
}

}  // namespace starling::detail
