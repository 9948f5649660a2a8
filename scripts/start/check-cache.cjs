'use strict'
/** Whether this Node.js accepts the cache of a program: exit code 0, or a sentence on standard error. */
const { readFileSync } = require('node:fs')
const { Script } = require('node:vm')

const path = process.argv[2]
const cachedData = readFileSync(`${path}.cache`)
const script = new Script(readFileSync(`${path}.js`, 'latin1'), { filename: `${path}.js`, cachedData })
if (script.cachedDataRejected) {
  process.stderr.write('V8 does not accept it; it was made with other flags or by another version\n')
  process.exit(1)
}
