/** What is installed on a device or server: three products, each a folder of programs with its own Node.js, as a Debian package and as a tarball. */

/** By their names in Debian; npm calls amd64 x64. */
export const architectures = { amd64: 'x64', arm64: 'arm64' } as const
export type Architecture = keyof typeof architectures

/** @returns the architecture of this machine; undefined if nothing is released for it */
export const ownArchitecture = (): Architecture | undefined =>
  process.platform === 'linux'
    ? (Object.keys(architectures) as Architecture[]).find((each) => architectures[each] === process.arch)
    : undefined

export interface Product {
  /** Name of the package, of its folder in /usr/lib, and of its systemd unit and user. */
  readonly name: string
  readonly summary: string
  /** Paragraphs for people who choose a package. */
  readonly description: readonly string[]
  /** Folders of `apps`, by their name in the product. */
  readonly programs: readonly ('runtime' | 'identity' | 'discovery' | 'cli')[]
  readonly engines: readonly Engine[]
  /** Commands of `bin`: the program that each one runs. */
  readonly commands: Readonly<Record<string, Command>>
  /** Those of the commands that a person runs; they are in /usr/bin, each with a manual page. */
  readonly usersCommands: readonly string[]
  /** Section of its configuration file, which is /etc/selvedge/<section>.json. */
  readonly section: 'runtime' | 'identity' | 'discovery'
  /** Packages that make it better. */
  readonly recommends: readonly string[]
  readonly suggests: readonly string[]
}

export type Engine = 'node' | 'deno'

export interface Command {
  readonly program: Product['programs'][number]
  /** Options of Node.js. */
  readonly flags?: string
  /** Words before those of the caller. */
  readonly words?: string
}

export const products: readonly Product[] = [
  {
    name: 'selvedge',
    summary: 'edge runtime: services on a device, and an identity for it',
    description: [
      'The runtime runs JavaScript and WASM functions in sandboxes, and OCI containers, behind a gateway that checks access tokens. Programs on the device call it over a local JSON-RPC 2.0 API. It works offline.',
      'This package has the runtime, its systemd unit and the command line, with the Node.js and the Deno that they run on.',
    ],
    programs: ['runtime', 'cli'],
    engines: ['node', 'deno'],
    commands: { selvedge: { program: 'cli' }, 'selvedge-runtime': { program: 'runtime' } },
    usersCommands: ['selvedge'],
    section: 'runtime',
    recommends: ['bubblewrap', 'ca-certificates'],
    suggests: ['podman', 'iptables', 'nftables'],
  },
  {
    name: 'selvedge-identity',
    summary: 'identity service of the Selvedge edge runtime',
    description: [
      'The identity service registers devices, accounts and projects, and issues and revokes tokens (OAuth 2.0, OpenID Connect). Its console shows devices on a map. It stores its data in SQLite or PostgreSQL.',
      "This package has the service, its systemd unit and the operator's commands (selvedge-admin), with the Node.js that they run on.",
    ],
    programs: ['identity', 'cli'],
    engines: ['node'],
    commands: {
      'selvedge-admin': { program: 'cli', words: 'admin' },
      'selvedge-identity': { program: 'identity' },
    },
    usersCommands: ['selvedge-admin'],
    section: 'identity',
    recommends: ['ca-certificates'],
    suggests: ['postgresql'],
  },
  {
    name: 'selvedge-discovery',
    summary: 'discovery service of the Selvedge edge runtime',
    description: [
      'The discovery service stores the last location of each device, and finds devices nearby. It stores locations in memory with a copy in SQLite, or in a Valkey or Redis cluster.',
      'This package has the service and its systemd unit, with the Node.js that it runs on.',
    ],
    programs: ['discovery'],
    engines: ['node'],
    commands: { 'selvedge-discovery': { program: 'discovery' } },
    usersCommands: [],
    section: 'discovery',
    recommends: ['ca-certificates'],
    suggests: [],
  },
]
