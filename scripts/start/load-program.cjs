'use strict'
/**
 * Starts the program beside this file. Its cache has what V8 compiled when the program was built, so a start compiles nothing. V8 ignores a
 * cache of another version, architecture or length of the program, and then compiles as usual.
 */
const { closeSync, fstatSync, openSync, readFileSync, statSync } = require('node:fs')
const { Script } = require('node:vm')

const program = `${__dirname}/PROGRAM.js`
const othersMayWrite = 0o022

/** A cache is code: it is read if it belongs to the owner of the program, and nobody else may write to it. */
function readCache() {
  let file
  try {
    file = openSync(`${__dirname}/PROGRAM.cache`, 'r')
    const { uid, mode } = fstatSync(file)
    return uid === statSync(program).uid && !(mode & othersMayWrite) ? readFileSync(file) : undefined
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

// The bundler writes ASCII, and the wrapper of a CommonJS module around it.
const script = new Script(readFileSync(program, 'latin1'), { filename: program, cachedData: readCache() })
script.runInThisContext()(exports, require, module, __filename, __dirname)
