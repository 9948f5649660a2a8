'use strict'
/** Loaded before a program: in place of "ready" its parent gets what was loaded, and how often something was synced, until then. */
const fs = require('node:fs')
const { basename } = require('node:path')

const own = new Set(process.moduleLoadList)
const known = new Set(Object.keys(require.cache))
let syncs = 0
const count = (call) =>
  function counted(...given) {
    syncs++
    return call.apply(this, given)
  }
for (const name of ['fsync', 'fsyncSync', 'fdatasync', 'fdatasyncSync']) fs[name] = count(fs[name])
const open = fs.promises.open
fs.promises.open = async (...given) => {
  const file = await open(...given)
  for (const name of ['sync', 'datasync']) file[name] = count(file[name])
  return file
}

const send = process.send.bind(process)
process.send = () => {
  const loaded = process.moduleLoadList
    .filter((each) => !own.has(each))
    .map((each) => each.replace(/^(?:NativeModule|Internal Binding) /, ''))
  const bundles = Object.keys(require.cache)
    .filter((each) => !known.has(each))
    .map((each) => basename(each))
  return send({ loaded, bundles, syncs })
}
