# SPDX-License-Identifier: Apache-2.0
# For node-gyp (npm install): against the installed library, found by pkg-config. `make node` does without.
{
  "targets": [
    {
      "target_name": "qsettings",
      "sources": ["src/addon.cc", "src/call.cc", "src/policy.cc", "src/settings.cc", "src/watch.cc"],
      "include_dirs": ["<!(node -p \"require('node-addon-api').include_dir\")"],
      "defines": ["NAPI_VERSION=8", "NAPI_CPP_EXCEPTIONS", "_GNU_SOURCE"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++14", "-std=gnu++17", "-std=gnu++20"],
      "cflags_cc": ["-std=c++17", "-fexceptions", "-fvisibility=hidden", "<!@(pkg-config --cflags qsettings)"],
      "libraries": ["<!@(pkg-config --libs qsettings)"]
    }
  ]
}
