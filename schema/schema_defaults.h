/* SPDX-License-Identifier: Apache-2.0 */
/* The long default lists of the schema table, as JSON text. They are printed in full by `qsettings policy`. */
#ifndef SCHEMA_DEFAULTS_H
#define SCHEMA_DEFAULTS_H

/* Names beneath a writable root by which a confined command could make a program on the host run something later: git's
 * hooks, configuration and pointers (gitrepository-layout(5)), direnv, editors, and the agents' own project settings.
 */
#define DEFAULT_PROTECTED_PATHS \
    "[\".git/hooks\",\".git/config\",\".git/config.worktree\",\".git/commondir\",\".envrc\",\".vscode\",\".idea\"," \
    "\".devcontainer\",\".qwen\",\".claude\",\".codex\",\".gemini\",\".cursor\",\".agents\",\".mcp.json\"]"

#define DEFAULT_HIDDEN_CREDENTIALS \
    "\"~/.ssh\",\"~/.gnupg\",\"~/.pki\",\"~/.password-store\",\"~/.local/share/keyrings\",\"~/.aws\",\"~/.azure\"," \
    "\"~/.config/gcloud\",\"~/.kube\",\"~/.docker\",\"~/.config/containers\",\"~/.config/rclone\",\"~/.s3cfg\"," \
    "\"~/.boto\",\"~/.terraform.d\",\"~/.vault-token\",\"~/.netrc\",\"~/.npmrc\",\"~/.yarnrc.yml\",\"~/.pypirc\"," \
    "\"~/.config/pip\",\"~/.gem/credentials\",\"~/.cargo/credentials\",\"~/.cargo/credentials.toml\"," \
    "\"~/.m2/settings.xml\",\"~/.gradle/gradle.properties\",\"~/.config/gh\",\"~/.config/glab-cli\"," \
    "\"~/.config/hub\",\"~/.git-credentials\",\"~/.config/git/credentials\",\"~/.pgpass\",\"~/.my.cnf\"," \
    "\"~/.config/op\""

#define DEFAULT_HIDDEN_BROWSERS \
    "\"~/.mozilla\",\"~/.thunderbird\",\"~/.config/google-chrome\",\"~/.config/chromium\"," \
    "\"~/.config/BraveSoftware\",\"~/.config/microsoft-edge\",\"~/.config/opera\",\"~/.config/vivaldi\"," \
    "\"~/snap/firefox\",\"~/snap/chromium\",\"~/.var/app\""

#define DEFAULT_HIDDEN_HISTORIES \
    "\"~/.bash_history\",\"~/.zsh_history\",\"~/.zhistory\",\"~/.local/share/fish/fish_history\"," \
    "\"~/.python_history\",\"~/.node_repl_history\",\"~/.psql_history\",\"~/.mysql_history\"," \
    "\"~/.sqlite_history\",\"~/.rediscli_history\",\"~/.lesshst\",\"~/.viminfo\",\"~/.local/state/nvim\""

#define DEFAULT_HIDDEN_AGENTS \
    "\"~/.qwen\",\"~/.claude\",\"~/.claude.json\",\"~/.codex\",\"~/.gemini\",\"~/.cursor\",\"~/.config/Cursor\"," \
    "\"~/.config/claude\",\"~/.config/Claude\",\"~/.config/opencode\",\"~/.local/share/opencode\"," \
    "\"~/.config/github-copilot\",\"~/.copilot\",\"~/.continue\",\"~/.config/goose\""

#define DEFAULT_HIDDEN_PATHS \
    "[" DEFAULT_HIDDEN_CREDENTIALS "," DEFAULT_HIDDEN_BROWSERS "," DEFAULT_HIDDEN_HISTORIES "," DEFAULT_HIDDEN_AGENTS \
    ",\"/run/user\"]"

/* What builds and shells commonly need and what carries no secret. */
#define DEFAULT_ENV_PASS \
    "[\"PATH\",\"HOME\",\"USER\",\"LOGNAME\",\"SHELL\",\"TERM\",\"COLORTERM\",\"COLUMNS\",\"LINES\",\"NO_COLOR\"," \
    "\"FORCE_COLOR\",\"CLICOLOR\",\"LANG\",\"LANGUAGE\",\"LC_*\",\"TZ\",\"EDITOR\",\"VISUAL\",\"PAGER\",\"CI\"," \
    "\"SOURCE_DATE_EPOCH\",\"CC\",\"CXX\",\"CFLAGS\",\"CXXFLAGS\",\"CPPFLAGS\",\"LDFLAGS\",\"PKG_CONFIG_PATH\"," \
    "\"CARGO_HOME\",\"RUSTUP_HOME\",\"RUSTUP_TOOLCHAIN\",\"GOPATH\",\"GOROOT\",\"JAVA_HOME\",\"VIRTUAL_ENV\"," \
    "\"NVM_DIR\",\"PYENV_ROOT\",\"NODE_ENV\"]"

/* Letter case does not count in this list: npm's variables are lower case. */
#define DEFAULT_ENV_SECRETS \
    "[\"*TOKEN*\",\"*SECRET*\",\"*PASSWORD*\",\"*PASSWD*\",\"*PASSPHRASE*\",\"*_PWD\",\"*CREDENTIAL*\"," \
    "\"*API_KEY*\",\"*APIKEY*\",\"*ACCESS_KEY*\",\"*PRIVATE_KEY*\",\"*_KEY\",\"*_PAT\",\"*_AUTH\",\"*_DSN\"," \
    "\"*COOKIE*\",\"DATABASE_URL\",\"AWS_*\",\"AZURE_*\",\"GOOGLE_*\",\"GCP_*\",\"VAULT_*\"]"

#endif
