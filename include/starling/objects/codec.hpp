// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Declarations that let values of a type travel to other ranks. These types need none:
/// arithmetic types, enumerations, std::string, containers and vocabulary types of the standard
/// library, and trivially copyable structs without constructors, private members and pointers.
/// A user-defined class travels by its `serialize`, a member or a free function in its namespace:
///
///     template <class Archive> void serialize(Archive& ar) { ar(m_name, m_cells); }
///     template <class Archive> void serialize(Archive& ar, mesh& m) { ar(m.name, m.cells); }
///
/// It serves both directions (`Archive::is_reading` is true when reading) and needs a default
/// constructor.
namespace starling {

class counting_archive;
class input_archive;
class output_archive;

/// True: values of the class are sent as a copy of their bytes, as values of plain structs are. For
/// trivially copyable classes with constructors or private members, and for unions: their members
/// cannot be checked at compile time, so the author guarantees that they hold no pointers.
///
///     template <> inline constexpr bool starling::travels_as_bytes<my::vec3> = true;
template <class T>
inline constexpr bool travels_as_bytes = false;

/// True: values of the class are sent as a standard container with the same interface would be. By
/// default only specialisations of class templates with type parameters are sent so: a class that
/// derives from a container may have further members, which would be lost.
template <class T>
inline constexpr bool travels_as_container = false;

/// Specialised for a type with its own byte form: a type without a default constructor, or whose
/// class cannot be changed. Takes precedence over all other forms. Both functions may throw.
///
///     template <> struct starling::codec<my::handle> {
///       template <class Archive> static void save(Archive& ar, const my::handle& h) { ar(h.id());
///       } static my::handle load(input_archive& ar) { return my::handle(ar.read<int>()); }
///     };
///
/// `save` runs twice for a message, first to count its bytes: it must write the same both times.
template <class T>
struct codec {
  using not_specialised = void;
};

}  // namespace starling
