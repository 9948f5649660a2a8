/** No closure mentions what its function declares later: called early, it would throw. */
import { describe, expect, it } from 'vitest'
import { findEarlyClosures } from './early-closures.ts'
import { parseSource, readSources } from './sources.ts'

it('no closure mentions a const, let or class that is declared after it', () => {
  const sources = readSources('packages', 'apps')
  expect(sources.length).toBeGreaterThan(100)
  expect(sources.flatMap(findEarlyClosures)).toEqual([])
})

const findingsIn = (body: string) =>
  findEarlyClosures(parseSource('example.ts', `async function start() {\n${body}\n}`))

describe('the rule', () => {
  it.each([
    ['a timer', 'setInterval(() => use(port), 1)\nawait open()\nconst port = 1'],
    ['a service that is handed a closure', 'const a = make({ port: () => b.port })\nconst b = make()'],
    ['a method of an object', 'const a = make({ port() { return b.port } })\nconst b = make()'],
    ['a function that is handed over by its name', 'function port() { return b }\nmake(port)\nlet b = 1'],
    ['a named closure', 'const port = () => b\nmake({ port })\nconst b = 1'],
    [
      'a function that calls one that mentions it',
      'make(first)\nfunction first() { second() }\nfunction second() { use(b) }\nconst b = 1',
    ],
    ['a guarded callback', "const send = safely('a.b', () => b.send())\nsocket.on('c', send)\nconst b = 1"],
    ['a class', 'make(() => new B())\nclass B {}'],
    ['a destructured name', 'make(() => b)\nconst { a: { b = 1 }, ...rest } = c'],
    ['a name of an inner block', 'if (x) {\nmake(() => b)\nconst b = 1\n}'],
  ])('finds %s', (_, body) => {
    expect(findingsIn(body)).toHaveLength(1)
  })

  it.each([
    ['what is declared before', 'const b = 1\nmake(() => b)'],
    ['a function that is used after it', 'function port() { return b }\nconst b = 1\nmake(port)'],
    ['a closure that is used after it', 'const port = () => b\nconst b = 1\nmake(port)'],
    ['its own declaration', 'const timer = setTimeout(() => clearTimeout(timer), 1)'],
    [
      'functions that call each other',
      'function a() { c(); use(b) }\nfunction c() { a() }\nconst b = 1\nmake(a)',
    ],
    [
      'another variable of the same name',
      'make((b) => b)\nmake(() => { const b = 1; return b })\nconst b = 2',
    ],
    ['a member or a type of the same name', 'make(() => a.b)\nmake((): b => ({ b: 1 }))\nconst b = 2'],
  ])('accepts %s', (_, body) => {
    expect(findingsIn(body)).toEqual([])
  })
})
