import { expect, it } from 'vitest'
import { mergeTrees } from './merge.ts'
import { parseYaml } from './parse-yaml.ts'
import { createReport } from './report.ts'
import type { Tree } from './tree.ts'

const parse = (text: string) =>
  parseYaml({ name: 'a.yaml', folder: '/', bytes: Buffer.from(text) }, createReport(), (each) => each)

const plain = (tree: Tree): unknown =>
  tree.kind === 'scalar'
    ? tree.isNull
      ? null
      : tree.text
    : tree.kind === 'list'
      ? tree.items.map(plain)
      : Object.fromEntries([...tree.entries].map(([name, { value }]) => [name, plain(value)]))

const merge = async (before: string, after: string) =>
  plain(mergeTrees(await parse(before), await parse(after)))

it.each([
  ['single values are replaced', 'image: a', 'image: b', { image: 'b' }],
  ['mappings are merged', 'a: {b: 1, c: 2}', 'a: {c: 3, d: 4}', { a: { b: '1', c: '3', d: '4' } }],
  ['an empty value changes nothing', 'a: {b: 1}', 'a:', { a: { b: '1' } }],
  ['lists are joined', 'dns: [1.1.1.1]', 'dns: [8.8.8.8]', { dns: ['1.1.1.1', '8.8.8.8'] }],
  ['commands are replaced', 'command: [a, b]', 'command: [c]', { command: ['c'] }],
  [
    'tests are replaced',
    'healthcheck: {test: [CMD, a], retries: 2}',
    'healthcheck: {test: [CMD, b]}',
    { healthcheck: { test: ['CMD', 'b'], retries: '2' } },
  ],
  [
    'variables of a list and a mapping are merged by name',
    'environment: [A=1, B=2, C]',
    'environment: {B: 3}',
    { environment: { A: '1', B: '3', C: null } },
  ],
  [
    'dependencies of a list and a mapping are merged',
    'depends_on: [a]',
    'depends_on: {b: {condition: service_healthy}}',
    { depends_on: { a: {}, b: { condition: 'service_healthy' } } },
  ],
  [
    'volumes are replaced by their path in the container',
    'volumes: ["a:/x", "b:/y"]',
    'volumes: ["c:/x:ro"]',
    { volumes: ['c:/x:ro', 'b:/y'] },
  ],
  [
    'equal ports are there once',
    'ports: ["80:80"]',
    'ports: ["80:80", "81:81"]',
    { ports: ['80:80', '81:81'] },
  ],
  [
    'hosts are merged by name',
    'extra_hosts: ["a:10.0.0.1"]',
    'extra_hosts: ["a=10.0.0.2"]',
    { extra_hosts: { a: '10.0.0.2' } },
  ],
  ['another kind replaces', 'env_file: a', 'env_file: [b]', { env_file: ['b'] }],
])('%s', async (_, before, after, expected) => {
  expect(await merge(before, after)).toEqual(expected)
})
