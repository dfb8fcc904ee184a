// SPDX-License-Identifier: Apache-2.0
#include "support/run_all.hpp"

int main(int argc, char** argv) { return starling_test::run_all(argc, argv); }
