#!/usr/bin/env node
// Written for any Node.js, since an old one has to be able to read its own refusal.
var version = process.versions.node
if (Number(version.split('.')[0]) < 20) {
  console.error(
    'error: selvedge needs Node.js 20 or later; this is ' +
      version +
      '. Install a later one, or use the Debian package.',
  )
  process.exit(1)
}
require('../dist/main.cjs')
