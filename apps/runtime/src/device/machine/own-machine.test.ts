import {
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../../tests/harness/installed.ts'
import { adoptMark, keepToMachine, replacedBy } from './own-machine.ts'

const here = { hardware: 'here', system: '1' }
const elsewhere = { hardware: 'elsewhere', system: '1' }

let state: string
let folder: string
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'selvedge-own-machine-'))
  folder = join(state, 'runtime')
  mkdirSync(join(folder, 'images'), { recursive: true })
  writeFileSync(join(folder, 'lock'), '')
  writeFileSync(join(folder, 'node-key.json'), 'the key of before')
  writeFileSync(join(folder, 'images', 'blob'), 'content')
})

const keyIn = (path: string) => readFileSync(join(path, 'node-key.json'), 'utf8')
const tieIn = (path: string) => JSON.parse(readFileSync(join(path, 'machine.json'), 'utf8'))
/** A device that is set aside, and the new one in its place. */
async function copied(): Promise<string> {
  await keepToMachine(folder, here)
  const { setAside } = await keepToMachine(folder, elsewhere)
  writeFileSync(join(folder, 'node-key.json'), 'the new key')
  return setAside!
}

it('ties a state that has no machine yet, as of an earlier version, to this one', async () => {
  expect(await keepToMachine(folder, here)).toEqual({})
  expect(await keepToMachine(folder, here)).toEqual({})
  expect(keyIn(folder)).toBe('the key of before')
  expect(tieIn(folder)).toMatchObject(here)
})

it('learns what a later start can read, and keeps what it cannot', async () => {
  await keepToMachine(folder, { system: '1' })
  await keepToMachine(folder, here)
  await keepToMachine(folder, {})
  expect(tieIn(folder)).toMatchObject(here)
  await keepToMachine(folder, { hardware: 'here', system: '2' })
  expect(tieIn(folder).system).toBe('2')
})

it('sets the state of another machine aside, as a whole', async () => {
  const aside = await copied()
  expect(aside).toMatch(join(state, 'set-aside'))
  expect(readdirSync(aside).sort()).toEqual(['images', 'machine.json', 'node-key.json'])
  expect(keyIn(aside)).toBe('the key of before')
  expect(readdirSync(folder).sort()).toEqual(['lock', 'machine.json', 'node-key.json'])
  expect(await keepToMachine(folder, elsewhere)).toEqual({})
})

it('starts with the state where what is stored of the machine is damaged', async () => {
  await keepToMachine(folder, here)
  for (const content of ['', '{}', '{"id": 5}', '[', '{"id": "../../etc"}']) {
    writeFileSync(join(folder, 'machine.json'), content)
    expect(await keepToMachine(folder, elsewhere)).toEqual({})
    expect(keyIn(folder)).toBe('the key of before')
  }
})

it('adopts a marked state, and sets the one of this machine aside', async () => {
  const aside = await copied()
  writeFileSync(join(aside, adoptMark), '')
  expect(await keepToMachine(folder, elsewhere)).toEqual({ adopted: aside })
  expect(keyIn(folder)).toBe('the key of before')
  expect(tieIn(folder)).toMatchObject(elsewhere)
  const others = readdirSync(join(state, 'set-aside')).filter((name) => !aside.endsWith(name))
  expect(keyIn(join(state, 'set-aside', others[0]!))).toBe('the new key')
  expect(await keepToMachine(folder, elsewhere)).toEqual({})
})

it('writes nothing where nothing is new, and sets nothing aside that it cannot read', async () => {
  await keepToMachine(folder, here)
  const written = lstatSync(join(folder, 'machine.json')).ino
  await keepToMachine(folder, { hardware: 'here' })
  expect(lstatSync(join(folder, 'machine.json')).ino).toBe(written)
  rmSync(join(folder, 'machine.json'))
  mkdirSync(join(folder, 'machine.json'))
  await expect(keepToMachine(folder, elsewhere)).rejects.toThrow('EISDIR')
  expect(keyIn(folder)).toBe('the key of before')
})

it('adopts nothing for a mark that is a link', async () => {
  const aside = await copied()
  symlinkSync('node-key.json', join(aside, adoptMark))
  expect(await keepToMachine(folder, elsewhere)).toEqual({})
})

describe('as root', needs('root'), () => {
  it.each([
    ['root', 1000, 0, true],
    ['the owner of the state', 1000, 1000, true],
    ['another user', 1000, 1001, false],
    ['another user, in a state of root', 0, 1001, false],
  ])('a mark of %s', async (_, owner, marker, isAdopted) => {
    const aside = await copied()
    chownSync(folder, owner, owner)
    writeFileSync(join(aside, adoptMark), '')
    lchownSync(join(aside, adoptMark), marker, marker)
    expect(await keepToMachine(folder, elsewhere)).toEqual(isAdopted ? { adopted: aside } : {})
  })
})

it('adopts nothing where two states are marked', async () => {
  const first = await copied()
  const { setAside: second } = await keepToMachine(folder, here)
  for (const aside of [first, second!]) writeFileSync(join(aside, adoptMark), '')
  expect(await keepToMachine(folder, here)).toEqual({})
})

/** Moves names of one folder into another one, as a start that was killed did. */
function moved(from: string, to: string, ...names: string[]): void {
  mkdirSync(to, { recursive: true })
  for (const name of names) renameSync(join(from, name), join(to, name))
}

it.each([[[]], [['images']], [['images', 'node-key.json']]])(
  'continues to set a state aside after %j was moved',
  async (names) => {
    await keepToMachine(folder, here)
    const aside = join(state, 'set-aside', tieIn(folder).id)
    moved(folder, aside, ...names)
    expect(await keepToMachine(folder, elsewhere)).toEqual({ setAside: aside })
    expect(readdirSync(aside).sort()).toEqual(['images', 'machine.json', 'node-key.json'])
    expect(readdirSync(folder).sort()).toEqual(['lock', 'machine.json'])
  },
)

it.each([
  ['nothing was moved', () => undefined],
  ['the new key was set aside', (_aside: string, own: string) => moved(folder, own, 'node-key.json')],
  [
    'one of two names was moved back',
    (aside: string, own: string) => {
      moved(folder, own, 'node-key.json', 'machine.json')
      moved(aside, folder, 'images')
    },
  ],
  [
    'all names were moved back',
    (aside: string, own: string) => {
      moved(folder, own, 'node-key.json', 'machine.json')
      moved(aside, folder, 'images', 'node-key.json')
    },
  ],
])('continues to adopt a state after %s', async (_, interrupt) => {
  const aside = await copied()
  writeFileSync(join(aside, adoptMark), '')
  const own = join(state, 'set-aside', tieIn(folder).id)
  interrupt(aside, own)
  expect(await keepToMachine(folder, elsewhere)).toEqual({ adopted: aside })
  expect(keyIn(folder)).toBe('the key of before')
  expect(keyIn(own)).toBe('the new key')
  expect(await keepToMachine(folder, elsewhere)).toEqual({})
})

it('keeps what was adopted if the power failed before the machine was stored', async () => {
  const aside = await copied()
  moved(folder, join(state, 'set-aside', tieIn(folder).id), 'node-key.json', 'machine.json')
  moved(aside, folder, 'images', 'node-key.json')
  expect(await keepToMachine(folder, elsewhere)).toEqual({})
  expect(keyIn(folder)).toBe('the key of before')
})

it('names the state that was set aside, until it is adopted', async () => {
  await keepToMachine(folder, here)
  expect(await replacedBy(folder)).toBeUndefined()
  const { setAside } = await keepToMachine(folder, elsewhere)
  expect(await replacedBy(folder)).toEqual({ path: setAside, at: expect.any(Number) })
  renameSync(join(setAside!, 'node-key.json'), join(setAside!, 'other'))
  expect(await replacedBy(folder)).toBeUndefined()
  renameSync(join(setAside!, 'other'), join(setAside!, 'node-key.json'))
  writeFileSync(join(setAside!, adoptMark), '')
  await keepToMachine(folder, elsewhere)
  expect(await replacedBy(folder)).toBeUndefined()
})
