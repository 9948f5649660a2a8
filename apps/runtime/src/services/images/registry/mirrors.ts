/** Mirrors of registries: the rules of `images.mirrors`. */
import { readReference } from './reference.ts'

/** A repository at a host. */
export interface Place {
  readonly registry: string
  readonly repository: string
}

/** Host with its port, as in references; `''` if it is no host. */
export function hostIn(text: string): string {
  try {
    const { registry, repository } = readReference(`${text}/x`)
    return repository === 'x' || text === 'docker.io' ? registry : ''
  } catch {
    return ''
  }
}

/** @param text `registry.example:5000`, without a path */
export const isRegistryHost = (text: string): boolean => hostIn(text) !== ''

interface MirrorRule {
  /** Host of the registry, with its port. */
  readonly of: string
  readonly mirror: string
  /** Before the repository at the mirror; '' or with a slash at its end. */
  readonly path: string
}

/** @param text `docker.io=mirror.example:5000`, or with a path: `docker.io=mirror.example/hub` */
export function readMirrorRule(text: string): MirrorRule | undefined {
  const [of = '', mirror = '', ...more] = text.split('=')
  const [host = '', ...path] = mirror.split('/')
  if (more.length > 0 || !isRegistryHost(of) || !isRegistryHost(host)) return undefined
  try {
    // A path is as repositories are.
    readReference(`${mirror}/x`)
  } catch {
    return undefined
  }
  return { of: hostIn(of), mirror: hostIn(host), path: path.map((each) => `${each}/`).join('') }
}

/** The mirrors of an image in their order, and its registry. */
export function placesOf({ registry, repository }: Place, rules: readonly string[]): Place[] {
  const mirrors = rules
    .map(readMirrorRule)
    .filter((rule) => rule?.of === registry)
    .map((rule) => ({ registry: rule!.mirror, repository: `${rule!.path}${repository}` }))
  return [...mirrors, { registry, repository }]
}
