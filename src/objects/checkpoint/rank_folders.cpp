// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/rank_folders.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <starling/core/error.hpp>
#include <starling/objects/ranks.hpp>

#include "objects/checkpoint/checkpoint_folder.hpp"
#include "objects/checkpoint/checkpoint_reader.hpp"
#include "objects/checkpoint/folder_names.hpp"

namespace starling::detail {
namespace {

std::string boot_of_host() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  return boot;
}

rank_view view_of(const std::string& pattern, int rank) {
  rank_view view{host_name(), boot_of_host(), {}, {}};
  view.own.path = folder_path(pattern, rank, view.host);
  checkpoint_folder(view.own.path).make();
  view.own.id = make_folder_id(view.own.path);
  for (const std::string& path : matching_folders(pattern))
    if (const std::uint64_t id = folder_id(path); id != 0 && id != view.own.id)
      view.others.push_back({id, path});
  return view;
}

std::vector<inventory> inventories_of(const std::vector<led_folder>& led) {
  std::vector<inventory> all;
  for (const led_folder& f : led) all.push_back(inventory_of(f.path));
  return all;
}

/// Writes the manifest of another folder into this one if the shares here are of that checkpoint: a
/// run was interrupted between the two manifests, a folder got copies again, or the manifest here
/// is damaged.
void complete_by(const std::string& path, const manifest& of) {
  checkpoint_folder folder(path);
  try {
    for (const share_summary& share : of.shares) {
      const std::string file = folder.folder_of(of.number) + "/" + share_name(share.rank);
      std::error_code unknown;
      if (!std::filesystem::exists(file, unknown)) continue;
      require_share(share_reader(std::make_unique<file_source>(file)), of, share.rank);
    }
  } catch (const checkpoint_error&) {  // an older checkpoint with this number: it is removed
    return;
  }
  folder.put_manifest(of);
}

void verify(const share_address& at, const std::string& path) {
  const checkpoint_reader reader(path, at.number);
  if (reader.contents().stamp != at.stamp)
    refuse(checkpoint_fault::mismatch, reader.folder(), "it is another checkpoint now");
  reader.open_share(at.share).verify();
}

}  // namespace

rank_folders::rank_folders(runtime& rt) : m_owner(rt) {}

rank_folders::~rank_folders() {
  m_thread.reset();  // ends its calls, which may make spares
  for (const auto& [pattern, duties] : m_duties)
    for (const led_folder& f : duties.led) {
      try {
        checkpoint_folder(f.path).remove_spares();
      } catch (const checkpoint_error&) {  // the next run removes them
      }
    }
}

void rank_folders::use(folder_duties duties) {
  const std::lock_guard lock(m_mutex);
  m_duties[duties.pattern] = std::move(duties);
}

folder_duties rank_folders::find(const std::string& pattern) const {
  const std::lock_guard lock(m_mutex);
  const auto found = m_duties.find(pattern);
  if (found == m_duties.end())
    throw usage_error("checkpoints: this rank has not opened '" + pattern + "'");
  return found->second;
}

std::vector<led_folder> rank_folders::led(const std::string& pattern) const {
  return find(pattern).led;
}

std::uint32_t rank_folders::own(const std::string& pattern) const { return find(pattern).own; }

std::string rank_folders::own_path(const std::string& pattern) const {
  return folder_path(pattern, m_owner.service<object_space>().rank(), host_name());
}

std::string rank_folders::path_of(const std::string& pattern, std::uint32_t folder) const {
  const folder_duties mine = find(pattern);
  if (mine.own == folder) return own_path(pattern);
  const auto led = std::ranges::find(mine.led, folder, &led_folder::folder);
  return led == mine.led.end() ? std::string() : led->path;
}

rank_folders& folders_here() { return space_here().owner().service<rank_folders>(); }

task<rank_view> open_folder(std::string pattern) {
  auto view = folders_here().call([pattern = std::move(pattern), rank = space_here().rank()] {
    return view_of(pattern, rank);
  });
  co_return co_await std::move(view);
}

task<std::vector<inventory>> use_folders(folder_duties duties) {
  auto found = folders_here().call([led = duties.led] { return inventories_of(led); });
  folders_here().use(std::move(duties));
  co_return co_await std::move(found);
}

task<std::vector<inventory>> tidy_folders(std::string pattern,
                                          std::vector<missing_manifest> missing) {
  rank_folders& mine = folders_here();
  auto tidying = mine.call([&mine, pattern, led = mine.led(pattern), missing = std::move(missing)] {
    for (const missing_manifest& m : missing)
      complete_by(mine.path_of(pattern, m.folder), m.contents);
    for (const led_folder& f : led) checkpoint_folder(f.path).remove_unfinished();
    return inventories_of(led);
  });
  co_return co_await std::move(tidying);
}

task<std::vector<inventory>> list_folders(std::string pattern) {
  rank_folders& mine = folders_here();
  auto found = mine.call([led = mine.led(pattern)] { return inventories_of(led); });
  co_return co_await std::move(found);
}

task<manifest> read_manifest_of(share_address any) {
  rank_folders& mine = folders_here();
  auto read = mine.call([path = mine.path_of(any.pattern, any.folder), number = any.number] {
    return checkpoint_reader(path, number).contents();
  });
  co_return co_await std::move(read);
}

task<std::vector<refused_file>> verify_shares(std::vector<share_address> shares) {
  rank_folders& mine = folders_here();
  auto verification = mine.call([&mine, shares = std::move(shares)] {
    std::vector<refused_file> refused;
    for (const share_address& at : shares) {
      try {
        verify(at, mine.path_of(at.pattern, at.folder));
      } catch (const checkpoint_error& e) {
        refused.push_back({at.share, e.fault(), e.what()});
      }
    }
    return refused;
  });
  co_return co_await std::move(verification);
}

task<> complete_checkpoint(std::string pattern, manifest contents) {
  rank_folders& mine = folders_here();
  auto completion = mine.call([path = mine.own_path(pattern), contents = std::move(contents)] {
    checkpoint_folder(path).complete(contents);
  });
  co_await std::move(completion);
}

task<> remove_older(std::string pattern, retention rule) {
  rank_folders& mine = folders_here();
  auto removal = mine.call([led = mine.led(pattern), own = mine.own(pattern), rule] {
    for (const led_folder& f : led) {
      checkpoint_folder folder(f.path);
      folder.remove_older(rule, f.folder == own);
      if (f.folder != own) folder.remove_if_empty();
    }
  });
  co_await std::move(removal);
}

task<> drop_arriving(std::string pattern, std::uint64_t number) {
  rank_folders& mine = folders_here();
  auto dropping = mine.call([&mine, pattern, number] {
    std::erase_if(mine.copies, [&](const auto& copy) {
      return std::get<0>(copy.first) == pattern && std::get<1>(copy.first) == number;
    });
  });
  co_await std::move(dropping);
}

task<> abandon_checkpoint(std::string pattern, std::uint64_t number) {
  co_await drop_arriving(pattern, number);
  rank_folders& mine = folders_here();
  const auto led = mine.led(pattern);
  const bool is_lead = std::ranges::count(led, mine.own(pattern), &led_folder::folder) != 0;
  if (!is_lead) co_return;
  auto removal = mine.call([path = mine.own_path(pattern), number] {
    try {
      checkpoint_folder folder(path);
      folder.abandon(number);
      folder.remove_spares();            // the disk may be full
    } catch (const checkpoint_error&) {  // the next run removes what remains
    }
  });
  co_await std::move(removal);
}

}  // namespace starling::detail
