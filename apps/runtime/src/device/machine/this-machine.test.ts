import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, test } from 'vitest'
import { isSameMachine, type Machine, serialNumber, thisMachine } from './this-machine.ts'

const machineId = '0123456789abcdef0123456789abcd00'
const serial = 'sys/class/dmi/id/product_uuid'

/** Describes a machine with these files. */
function machineOf(files: Readonly<Record<string, string>>): Machine {
  const root = rootWith(files)
  return thisMachine(join(root, 'credentials'), root)
}

function rootWith(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'selvedge-machine-'))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return root
}

it('describes a machine by the hashes of its serial number and of its machine ID', () => {
  const found = machineOf({ [serial]: '4C4C4544-0042\n', 'etc/machine-id': `${machineId}\n` })
  expect(found).toEqual({ hardware: expect.any(String), system: expect.any(String) })
  expect(JSON.stringify(found)).not.toMatch(/4C4C|0123456789/)
})

it('prefers the serial number that the unit was given', () => {
  const given = machineOf({ 'credentials/hardware-serial': '4C4C4544\n', [serial]: 'other' })
  expect(given).toEqual(machineOf({ [serial]: '4C4C4544' }))
  expect(machineOf({ 'credentials/hardware-serial': '', [serial]: '4C4C4544' })).toEqual(given)
})

it('finds the serial number of a device tree, which ends with NUL', () => {
  const path = 'proc/device-tree/serial-number'
  expect(machineOf({ [path]: '100000003d1f\0' })).toEqual(machineOf({ [path]: '100000003d1f' }))
  expect(machineOf({ [path]: '100000003d1f' }).hardware).not.toBe(
    machineOf({ [path]: '100000003d20' }).hardware,
  )
})

it('names a machine by the same hash in every version', () => {
  expect(machineOf({ [serial]: '4C4C4544', 'etc/machine-id': machineId })).toEqual({
    hardware: 'OLViqmAtTsE6CiFBF7dMeI25o9t1UFL3Ze8PJPvB8ug',
    system: 'scsFzV7djMOq-_P0R3JziYsuzn6mkbNGPYHXaIKkVLA',
  })
})

it.each(['sys/class/dmi/id/product_serial', 'sys/class/dmi/id/board_serial'])('reads %s', (path) => {
  expect(machineOf({ [path]: '4C4C4544' })).toEqual(machineOf({ [serial]: '4C4C4544' }))
})

it('does without a unit, and reads 200 characters at most', () => {
  const root = mkdtempSync(join(tmpdir(), 'selvedge-machine-'))
  expect(thisMachine(undefined, root)).toEqual({})
  expect(machineOf({ [serial]: `${'4C'.repeat(100)}5` })).toEqual(machineOf({ [serial]: '4C'.repeat(100) }))
})

test.each([
  'To be filled by O.E.M.',
  'Default string',
  'System Serial Number',
  '00000000-0000-0000-0000-000000000000',
  'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  '03000200-0400-0500-0006-000700080009',
  '1234567890',
  '123456789',
  '234567890',
  'XXXXXXXX',
  'x',
  'None',
  '',
])('does not use the placeholder %j as a serial number', (text) => {
  expect(machineOf({ [serial]: text })).toEqual({})
})

test.each(['run/.containerenv', '.dockerenv', 'run/systemd/container'])(
  'does not use the hardware of the host of a container (%s)',
  (path) => {
    const found = machineOf({ [serial]: '4C4C4544', 'etc/machine-id': machineId, [path]: 'x' })
    expect(found).toEqual({ system: expect.any(String) })
  },
)

test.each(['uninitialized', '', '0'.repeat(32), machineId.slice(1), `${machineId}0`, `x${machineId}`])(
  'does not use the machine ID %j',
  (text) => {
    expect(machineOf({ 'etc/machine-id': text })).toEqual({})
  },
)

test.each<[Record<string, string>, string | undefined]>([
  [
    { 'proc/device-tree/serial-number': '10000000abcd\0', 'sys/class/dmi/id/product_serial': 'B' },
    '10000000abcd',
  ],
  [
    { 'sys/class/dmi/id/product_serial': 'To be filled by O.E.M.', 'sys/class/dmi/id/board_serial': 'PF1-9' },
    'PF1-9',
  ],
  [{ 'sys/class/dmi/id/product_serial': 'a b', 'sys/class/dmi/id/board_serial': '../x' }, undefined],
  [{ 'sys/class/dmi/id/product_uuid': '4C4C4544-0051-3510-8052-B4C04F4E3332' }, undefined],
  [{ 'proc/device-tree/serial-number': '10000000abcd', '.dockerenv': 'x' }, undefined],
])('states the serial number of %j as %j', (files, expected) => {
  expect(serialNumber(rootWith(files))).toBe(expected)
})

test.each<[Machine, Machine, boolean, string]>([
  [{ hardware: 'a', system: '1' }, { hardware: 'a', system: '1' }, true, 'nothing changed'],
  [{ hardware: 'a', system: '1' }, { hardware: 'a', system: '2' }, true, 'the system was installed again'],
  [{ hardware: 'a', system: '1' }, { hardware: 'b', system: '1' }, false, 'the disk is in another machine'],
  [{ hardware: 'a', system: '1' }, { hardware: 'b', system: '2' }, false, 'the folder is on another machine'],
  [{ system: '1' }, { system: '2' }, false, 'a machine without a serial number has another machine ID'],
  [{ system: '1' }, { hardware: 'a', system: '1' }, true, 'the serial number can be read now'],
  [{ hardware: 'a' }, { system: '1' }, true, 'nothing can be compared'],
  [{ hardware: 'a', system: '1' }, {}, true, 'nothing can be read'],
])('compares %j with %j: %s (%s)', (known, found, isSame) => {
  expect(isSameMachine(known, found)).toBe(isSame)
})
