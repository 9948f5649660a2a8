/** The arrows between the houses, and the house rules that a machine can check. Red on the first leak. */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from './harness/processes.ts'

const files = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', 'packages/*.ts', 'apps/*.ts', 'apps/*.tsx'],
  { cwd: root, encoding: 'utf8' },
)
  .trim()
  .split('\n')
  .filter((path) => !path.endsWith('.test.ts') && !path.endsWith('.config.ts'))
const textOf = new Map(files.map((path) => [path, readFileSync(join(root, path), 'utf8')]))

interface Import {
  readonly from: string
  readonly what: string
  readonly typeOnly: boolean
}

/** Examples in comments import what users import. */
const withoutComments = (text: string): string => text.replace(/^[ \t]*\/\*\*[\s\S]*?\*\//gm, '')

const importsOf = (path: string): Import[] =>
  [
    ...withoutComments(textOf.get(path)!).matchAll(
      /^(?:import|export)\s+(type\s)?(?:[^'"]*?\sfrom\s+)?'([^']+)'/gms,
    ),
  ].map(([, type, from]) => ({
    from: path,
    what: from!,
    typeOnly: type !== undefined,
  }))

/** What each house may import, beside its own files. Everything else is a leak. */
const allowed: Readonly<Record<string, readonly RegExp[]>> = {
  // The contract is a leaf: every package may import it, and it imports none.
  'packages/protocol': [/^zod$/],
  // Runs in browsers: nothing of Node but in src/node.
  'packages/client': [/^@selvedge\/protocol(\/|$)/],
  'packages/geo': [/^node:/, /^@selvedge\/protocol$/],
  'packages/service-kit': [/^node:/, /^@selvedge\/protocol(\/|$)/, /^(zod|fastify|pg)$/],
  'apps/runtime': [
    /^node:/,
    /^@selvedge\/(protocol|client|geo|service-kit)(\/|$)/,
    /^(zod|tar|@fastify\/busboy|@bjorn3\/browser_wasi_shim)$/,
  ],
  'apps/identity': [
    /^node:/,
    /^@selvedge\/(protocol|client|service-kit)(\/|$)/,
    /^(fastify|@simplewebauthn\/server|@zxcvbn-ts\/language-common)$/,
  ],
  'apps/discovery': [
    /^node:/,
    /^@selvedge\/(protocol|client|geo|service-kit)(\/|$)/,
    /^(fastify|zod|ioredis)$/,
  ],
  // Pages: nothing of Node, nothing of the services but their contract.
  'apps/console': [
    /^@selvedge\/(protocol|client)(\/|$)/,
    /^(preact(\/hooks)?|@simplewebauthn\/browser|d3-geo|topojson-client|world-atlas\/.*)$/,
  ],
  'apps/cli': [/^node:/, /^@selvedge\/(protocol|client|geo)(\/|$)/, /^(commander|tar|uqr)$/],
  'apps/stack': [/^node:/, /^@selvedge\/service-kit(\/|$)/],
  'apps/simulator': [/^node:/, /^@selvedge\/(protocol|client|geo|service-kit)(\/|$)/],
}

/** Inside an app: what a folder may use of its neighbours. `main` is the composition root. */
const features: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'apps/runtime': {
    account: [],
    cloud: [],
    gps: ['cloud'],
    hmac: [],
    node: [],
    time: [],
    tokens: [],
    deployments: [],
    images: ['deployments'],
    engines: [],
    containers: ['deployments', 'engines'],
    gateway: ['engines'],
    rest: ['gateway'],
    mcm: ['gateway'],
    nodes: ['gateway'],
    'link-local': [],
  },
  'apps/identity': {
    keys: [],
    changes: [],
    sweep: [],
    audit: ['sweep'],
    revocation: ['sweep'],
    registry: ['sweep'],
    checks: [],
    grants: ['checks'],
    endpoints: ['checks', 'grants'],
    console: [],
    admin: ['registry'],
    trust: [],
  },
  'apps/discovery': {
    index: [],
    stores: ['index'],
    registry: [],
    trust: [],
    sessions: [],
    endpoints: ['trust'],
  },
}

const houseOf = (path: string): string => path.split('/').slice(0, 2).join('/')

describe('the arrows of the architecture', () => {
  it.each(Object.keys(allowed))('%s imports what it may', (house) => {
    const leaks = files
      .filter((path) => houseOf(path) === house)
      .flatMap(importsOf)
      .filter(({ from, what }) => {
        if (what.startsWith('.')) return houseOf(relative(root, join(root, dirname(from), what))) !== house
        if (house === 'packages/client' && from.startsWith('packages/client/src/node/'))
          return !/^node:/.test(what) && !allowed[house]!.some((rule) => rule.test(what))
        return !allowed[house]!.some((rule) => rule.test(what))
      })
    expect(leaks).toEqual([])
  })

  it('are those of the diagram in docs/architecture.md', () => {
    const diagram = readFileSync(join(root, 'docs/architecture.md'), 'utf8').split('```')[1]!
    const drawn = [...diagram.matchAll(/^ {2}([\w-]+)(?:\[[\w-]+\])? --> ([\w-]+)$/gm)].map(
      ([, from, to]) => `${from} --> ${to}`,
    )
    const shown = (folder: string) => basename(folder).replace('service-kit', 'kit')
    const packages = Object.keys(allowed).filter((folder) => folder.startsWith('packages/'))
    const edges = Object.entries(allowed).flatMap(([from, rules]) =>
      packages
        .filter((to) => rules.some((rule) => rule.test(`@selvedge/${basename(to)}`)))
        .map((to) => `${shown(from)} --> ${shown(to)}`),
    )
    expect(drawn.toSorted()).toEqual(edges.toSorted())
  })

  it('every house has its rule', () => {
    expect([...new Set(files.map(houseOf))].sort()).toEqual(Object.keys(allowed).sort())
  })

  it.each(Object.keys(features))(
    'inside %s features meet in the composition root only; they may know each other’s types',
    (app) => {
      const folderOf = (path: string) => /^apps\/[^/]+\/src\/([^/]+)\//.exec(path)?.[1]
      const leaks = files
        .filter((path) => houseOf(path) === app && folderOf(path) !== undefined)
        .flatMap(importsOf)
        .filter(({ from, what, typeOnly }) => {
          if (typeOnly || !what.startsWith('.')) return false
          const own = folderOf(from)!
          const other = folderOf(relative(root, join(root, dirname(from), what)))
          return other !== undefined && other !== own && !features[app]![own]?.includes(other)
        })
      expect(leaks).toEqual([])
    },
  )
})

describe('the house rules', () => {
  it('no source file is over 500 lines, half of them are under 100, no main over 40', () => {
    const lines = files.map((path) => textOf.get(path)!.split('\n').length).sort((a, b) => a - b)
    expect(lines.at(-1)).toBeLessThanOrEqual(500)
    expect(lines[Math.floor(lines.length / 2)]).toBeLessThanOrEqual(100)
    expect(lines[Math.floor(lines.length * 0.9)]).toBeLessThanOrEqual(300)
    for (const path of files.filter((each) => basename(each) === 'main.ts')) {
      expect(textOf.get(path)!.split('\n').length, path).toBeLessThanOrEqual(41)
    }
  })

  it('there are no drawers', () => {
    expect(
      files.filter((path) => /(^|[/-])(utils?|helpers?|common|misc|manager|lib)([-./]|$)/.test(path)),
    ).toEqual([])
  })

  it('nothing but the clocks and the programs asks the system for the time', () => {
    const mayAsk = [
      'packages/service-kit/src/clock/clock.ts',
      'apps/runtime/src/time/device-clock.ts',
      'apps/cli/src/context/context.ts',
      // "Three minutes ago", in a browser.
      'apps/console/src/parts/time.tsx',
    ]
    const asking = files.filter(
      (path) =>
        /Date\.now\(\)|new Date\(\)/.test(textOf.get(path)!) &&
        !mayAsk.includes(path) &&
        basename(path) !== 'main.ts',
    )
    expect(asking).toEqual([])
  })

  it('nothing depends on the text of an error message', () => {
    // Where another program gives nothing but a text: SQLite for a trigger, Redis for a script that it does not know.
    const mayRead = [
      'apps/runtime/src/containers/storage-items.ts',
      'apps/discovery/src/stores/cluster/put.ts',
    ]
    const reading = files.filter(
      (path) =>
        /\.message\)?\.(?:startsWith|endsWith|includes|match|search)\(|\.test\([^)\n]*\.message\b|\.message\b[^=\n]{0,8}===/.test(
          textOf.get(path)!,
        ) && !mayRead.includes(path),
    )
    expect(reading).toEqual([])
  })

  it('no module keeps state of its own', () => {
    expect(files.filter((path) => /^(?:export )?(?:let|var) /m.test(textOf.get(path)!))).toEqual([])
  })

  it('no daemon makes folders with the recursive mkdir of Node, which never ends on some file systems', () => {
    const daemons = /^(packages\/service-kit\/src\/(?!testing)|apps\/(runtime|identity|discovery|stack))\//
    const making = files.filter(
      (path) => daemons.test(path) && /mkdir(Sync)?\([^)]*\{[^}]*recursive: true/.test(textOf.get(path)!),
    )
    expect(making).toEqual([])
  })

  it('nothing that is installed runs a script', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { hasInstallScript?: boolean }>
    }
    expect(
      Object.entries(lock.packages)
        .filter(([, { hasInstallScript }]) => hasInstallScript)
        .map(([name]) => name),
    ).toEqual([])
  })

  it('every shared package begins with what it is for', () => {
    const entries = files.filter((path) =>
      /^(packages|apps)\/[^/]+\/src\/(index|[a-z-]+\/index)\.ts$/.test(path),
    )
    expect(entries.length).toBeGreaterThan(5)
    expect(entries.filter((path) => !textOf.get(path)!.startsWith('/**'))).toEqual([])
  })
})
