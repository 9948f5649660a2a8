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
  'packages/geo': [/^node:/, /^@selvedge\/protocol(\/lines)?$/],
  'packages/service-kit': [/^node:/, /^@selvedge\/protocol(\/|$)/, /^(zod|fastify|pg|ws)$/],
  'apps/runtime': [
    /^node:/,
    /^@selvedge\/(protocol|client|geo|service-kit)(\/|$)/,
    /^(zod|tar|croner|yaml|@fastify\/busboy|@bjorn3\/browser_wasi_shim)$/,
  ],
  'apps/identity': [
    /^node:/,
    /^@selvedge\/(protocol|client|service-kit)(\/|$)/,
    /^(fastify|@simplewebauthn\/server|@zxcvbn-ts\/language-common|openid-client)$/,
  ],
  'apps/discovery': [
    /^node:/,
    /^@selvedge\/(protocol|client|geo|service-kit)(\/|$)/,
    /^(fastify|zod|ioredis)$/,
  ],
  // Pages: nothing of Node, nothing of the services but their contract.
  'apps/console': [
    /^@selvedge\/(protocol|client)(\/|$)/,
    /^(preact(\/hooks)?|@simplewebauthn\/browser|maplibre-gl(\/.*)?|topojson-client|topojson-specification|geojson|virtual:outlines|world-atlas\/.*|vite)$/,
  ],
  'apps/cli': [
    /^node:/,
    /^@selvedge\/(protocol|client|geo)(\/|$)/,
    /^(chokidar|commander|rolldown|tar|uqr|yaml)$/,
  ],
  'apps/stack': [/^node:/, /^@selvedge\/service-kit(\/|$)/],
  'apps/simulator': [/^node:/, /^@selvedge\/(protocol|client|geo|service-kit)(\/|$)/],
}

/** The groups of a program, and the groups that each may import: types, too. `config.ts` is open to all; the composition root imports all. */
const groupsOf: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'apps/runtime/src': {
    device: [],
    location: ['device'],
    services: ['device'],
    api: ['device', 'location', 'services'],
  },
  'apps/identity/src': {
    storage: [],
    registry: ['storage'],
    tokens: ['storage', 'registry'],
    api: ['storage', 'registry', 'tokens'],
  },
}

/** Inside an app, or a group of it: what a folder may use of its neighbours. Files beside the folders are the composition. */
const features: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'apps/runtime/src/device': { account: [], cloud: [], hmac: [], node: [], time: [], tokens: [] },
  'apps/runtime/src/location': { gps: [], 'link-local': [], nodes: [] },
  'apps/runtime/src/services': {
    deployments: [],
    images: ['deployments'],
    engines: [],
    secrets: ['deployments'],
    containers: ['deployments', 'engines', 'grants', 'secrets'],
    apps: ['containers', 'deployments', 'images', 'secrets'],
    gateway: ['engines'],
    grants: ['deployments'],
    ports: ['deployments', 'grants'],
    schedules: ['containers', 'deployments'],
  },
  'apps/runtime/src/api': { rest: [], mcm: ['rest'] },
  'apps/identity/src/storage': { audit: ['sweep'], changes: [], replicas: [], secrets: [], sweep: [] },
  'apps/identity/src/registry': {
    keys: [],
    revocation: [],
    people: [],
    nodes: [],
    projects: [],
    'sign-ins': [],
    credentials: [],
  },
  'apps/identity/src/tokens': {
    trust: [],
    checks: [],
    grants: ['checks'],
    authorize: ['checks', 'grants'],
    enrolment: ['checks'],
  },
  'apps/identity/src/api': { endpoints: [], console: [], admin: [] },
  'apps/discovery/src': {
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
        if (/^packages\/client\/src\/(?:node\/|function\/node\.)/.test(from))
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

  it.each(Object.keys(features))('inside %s features may know each other’s types', (folder) => {
    const featureOf = (path: string) => (path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : '')
    const nameOf = (path: string) => /^([^/]+)\//.exec(featureOf(path))?.[1]
    const leaks = files
      .filter((path) => nameOf(path) !== undefined)
      .flatMap(importsOf)
      .filter(({ from, what, typeOnly }) => {
        if (typeOnly || !what.startsWith('.')) return false
        const own = nameOf(from)!
        const other = nameOf(relative(root, join(root, dirname(from), what)))
        return other !== undefined && other !== own && !features[folder]![own]?.includes(other)
      })
    expect(leaks).toEqual([])
  })

  describe.each(Object.entries(groupsOf))('between the groups of %s', (home, groups) => {
    const groupOf = (path: string) => new RegExp(`^${home}/([^/]+)/`).exec(path)?.[1]

    it('are those that are declared', () => {
      const leaks = files
        .filter((path) => groupOf(path) !== undefined)
        .flatMap(importsOf)
        .filter(({ from, what }) => {
          if (!what.startsWith('.')) return false
          const target = relative(root, join(root, dirname(from), what))
          const [own, other] = [groupOf(from)!, groupOf(target)]
          if (other === undefined) return target !== `${home}/config.ts`
          return other !== own && !groups[own]?.includes(other)
        })
      expect(leaks).toEqual([])
    })

    it('are drawn in docs/architecture.md', () => {
      const [, section] = readFileSync(join(root, 'docs/architecture.md'), 'utf8').split(
        `## The groups of \`${home}\`\n`,
      )
      const [, diagram] = section!.split('```')
      const drawn = [...diagram!.matchAll(/^ {2}([\w-]+) --> ([\w-]+)$/gm)].map(([, from, to]) => [from, to])
      const edges = Object.entries(groups).flatMap(([from, all]) => all.map((to) => [from, to]))
      expect(drawn.map(String).toSorted()).toEqual(edges.map(String).toSorted())
    })

    it.each(Object.keys(groups))('%s begins with its purpose, and what it must not know', (group) => {
      const [opening = ''] = textOf.get(`${home}/${group}/${group}.ts`)!.split('*/')
      expect(opening).toMatch(/^\/\*\*\n/)
      expect(opening).toContain('must not know')
    })

    it('every folder is in a group', () => {
      const present = new Set(files.filter((path) => path.startsWith(home)).map(groupOf))
      expect([...present].filter((group) => group !== undefined).toSorted()).toEqual(
        Object.keys(groups).toSorted(),
      )
    })
  })
})

it('in the identity service only the storage and the registry contain SQL', () => {
  const others = files.filter((path) => /^apps\/identity\/src\/(api|tokens)\//.test(path))
  expect(others.length).toBeGreaterThan(20)
  expect(others.filter((path) => /\bsql`/.test(textOf.get(path)!))).toEqual([])
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

  it('no file imports itself through others', () => {
    const targets = new Map(
      files.map((path) => [
        path,
        importsOf(path)
          .filter(({ what }) => what.startsWith('.'))
          .map(({ what }) => relative(root, join(root, dirname(path), what))),
      ]),
    )
    const done = new Set<string>()
    const circles: string[] = []
    const follow = (path: string, way: readonly string[]) => {
      if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' -> '))
      if (done.has(path)) return
      done.add(path)
      for (const target of targets.get(path) ?? []) follow(target, [...way, path])
    }
    for (const path of files) follow(path, [])
    expect(circles).toEqual([])
  })

  it('nothing but the clocks and the programs asks the system for the time', () => {
    const mayAsk = [
      'packages/service-kit/src/clock/clock.ts',
      'apps/runtime/src/device/time/device-clock.ts',
      'apps/cli/src/context/context.ts',
      // The clock of a component, which runs in the sandbox of its function.
      'apps/cli/src/archive/component/host/clocks.ts',
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
      'apps/runtime/src/services/containers/storage-items.ts',
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
