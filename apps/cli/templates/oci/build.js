// Makes the files of the image: a web server from this machine that needs no other file (busybox-static).
import { accessSync, constants, cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const folder = import.meta.dirname
const rootfs = join(folder, 'rootfs')

const busybox = (process.env.PATH ?? '')
  .split(delimiter)
  .map((each) => join(each, 'busybox'))
  .find((path) => isExecutable(path) && isStatic(readFileSync(path)))
if (busybox === undefined) {
  console.error('A static busybox is needed: apt-get install busybox-static')
  process.exit(1)
}
rmSync(rootfs, { recursive: true, force: true })
mkdirSync(join(rootfs, 'bin'), { recursive: true })
cpSync(busybox, join(rootfs, 'bin/busybox'), { dereference: true })
console.log('rootfs is ready')

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Whether an ELF program (64 bits, little-endian) names no loader (PT_INTERP). */
function isStatic(elf) {
  const at = Number(elf.readBigUInt64LE(0x20))
  const size = elf.readUInt16LE(0x36)
  const count = elf.readUInt16LE(0x38)
  return Array.from({ length: count }, (_, each) => elf.readUInt32LE(at + each * size)).every(
    (type) => type !== 3,
  )
}
