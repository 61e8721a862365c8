// SPDX-License-Identifier: Apache-2.0
// The same for import.
import qsettings from "./index.cjs";

export const {
  QsError,
  explain,
  explainSync,
  freezePolicy,
  freezePolicySync,
  readPolicy,
  readPolicySync,
  readSettings,
  readSettingsSync,
  sessionPolicySync,
  thawPolicySync,
  version,
  watch,
} = qsettings;
export default qsettings;
