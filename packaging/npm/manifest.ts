/** The package.json of a published package: that of the workspace, without what only the workspace needs. */

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly engines: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** A library: its modules and their types. The sources stay in the workspace, and with them the condition that names them. */
export function libraryManifest(own: Manifest): object {
  const { name, version, description, license, engines, dependencies = {} } = own
  const exports = Object.fromEntries(
    Object.entries(own.exports ?? {}).map(([entry, { source: _, ...conditions }]) => [entry, conditions]),
  )
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    sideEffects: false,
    engines,
    exports,
    dependencies,
  }
}

/**
 * The command line: bundles, which contain what they depend on. The bundler of functions is a program for one platform, so npm installs it;
 * where it cannot, the command line works without.
 */
export function cliManifest({ name, version, description, license, optionalDependencies }: Manifest): object {
  const engines = { node: '>=20' }
  const bin = { selvedge: 'bin/selvedge.cjs' }
  return { name, version, description, license, engines, bin, optionalDependencies }
}
