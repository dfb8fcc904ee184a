// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How a type says that its values may travel to other ranks. What travels without a word:
/// arithmetic types, enumerations, std::string, containers and vocabulary types of the standard
/// library, and trivially copyable structs without constructors, private members and pointers.
/// A class of one's own travels by its `serialize`, a member or a free function beside it:
///
///     template <class Archive> void serialize(Archive& ar) { ar(m_name, m_cells); }
///     template <class Archive> void serialize(Archive& ar, mesh& m) { ar(m.name, m.cells); }
///
/// which serves both ways (`Archive::is_reading` tells them apart) and needs a default constructor.
namespace starling {

class counting_archive;
class input_archive;
class output_archive;

/// True: values of the class are sent as a copy of their bytes, as those of plain structs are. For
/// trivially copyable classes with constructors or private members, and unions, into which the
/// compiler cannot look. The author vouches that they hold no pointers.
///
///     template <> inline constexpr bool starling::travels_as_bytes<my::vec3> = true;
template <class T>
inline constexpr bool travels_as_bytes = false;

/// True: values of the class are sent as those of a standard container that it looks like. Without
/// a word only class templates whose parameters are types are: a class that derives from a
/// container may have members that the container does not know.
template <class T>
inline constexpr bool travels_as_container = false;

/// To be specialised for a type that travels in a way of its own: that has no default constructor,
/// or whose class cannot be changed. Goes before all other ways. Both functions may throw.
///
///     template <> struct starling::codec<my::handle> {
///       template <class Archive> static void save(Archive& ar, const my::handle& h) { ar(h.id());
///       } static my::handle load(input_archive& ar) { return my::handle(ar.read<int>()); }
///     };
///
/// `save` runs twice for a message, first to count its bytes: it writes the same both times.
template <class T>
struct codec {
  using not_specialised = void;
};

}  // namespace starling
