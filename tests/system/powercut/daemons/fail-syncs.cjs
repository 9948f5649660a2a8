'use strict'
/**
 * Loaded before a daemon: some of its syncs fail, as they do where a disk fails for a moment. SELVEDGE_TEST_FAILING_SYNCS is the name of a
 * file, whose folder then can't be synced the first time that it holds it; or `later`: from when the daemon is ready, one sync
 * of seven fails, for each folder and for each kind of file in it.
 *
 * For a sync that fails, fsync is called on a descriptor that can't be synced, so that the recording has it as one that failed.
 */
const fs = require('node:fs')
const { dirname, extname, join } = require('node:path')

const { SELVEDGE_TEST_FAILING_SYNCS: which } = process.env
const onlyPath = 0o10000000
const counts = new Map()
let isReady = false
let isDone = false

/** @param path of what is synced */
function fails(path) {
  const isFolder = fs.statSync(path).isDirectory()
  if (which !== 'later') {
    if (isDone || !isFolder || !fs.existsSync(join(path, which))) return false
    isDone = true
    return true
  }
  if (!isReady) return false
  const kind = isFolder ? path : `${dirname(path)} ${extname(path)}`
  const count = (counts.get(kind) ?? 0) + 1
  counts.set(kind, count)
  // Not the folder's at the same turn as those of its files: the repetition after the one would hide the other.
  return count % 7 === (isFolder ? 3 : 2)
}

function fail(path) {
  const descriptor = fs.openSync(path, onlyPath)
  try {
    fs.fsyncSync(descriptor)
  } catch {
    throw Object.assign(new Error('EIO: i/o error, fsync'), { errno: -5, code: 'EIO', syscall: 'fsync' })
  } finally {
    fs.closeSync(descriptor)
  }
}

const open = fs.promises.open
fs.promises.open = async (...given) => {
  const file = await open(...given)
  for (const name of ['sync', 'datasync']) {
    const call = file[name]
    file[name] = async () => {
      const path = fs.readlinkSync(`/proc/self/fd/${file.fd}`)
      if (fails(path)) fail(path)
      return call.call(file)
    }
  }
  return file
}

const send = process.send.bind(process)
process.send = (...given) => {
  isReady = true
  return send(...given)
}
