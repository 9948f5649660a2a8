/** Paths of requests, made plain once: what is routed is what the service gets. */

export interface RequestPath {
  /** Without dot segments; percent-encoding is left as it came. */
  readonly path: string
  /** With its `?`, or "". */
  readonly query: string
}

/**
 * Removes dot segments, encoded ones too (RFC 3986 § 5.2.4, § 6.2.2.3).
 *
 * @returns undefined for a target that is no path, or that leads out of its folder if a service decodes its slashes
 */
export function readPath(target: string): RequestPath | undefined {
  const at = target.indexOf('?')
  const raw = at < 0 ? target : target.slice(0, at)
  const query = at < 0 ? '' : target.slice(at)
  if (!raw.startsWith('/') || raw.includes('\\') || raw.includes('#')) return undefined
  if (!raw.includes('%') && !raw.includes('/.')) return { path: raw, query }
  const kept: string[] = []
  const segments = raw.split('/').slice(1)
  for (const [index, segment] of segments.entries()) {
    let decoded: string
    try {
      decoded = decodeURIComponent(segment)
    } catch {
      return undefined
    }
    if (decoded.includes('\0') || /(^|[/\\])\.\.?([/\\]|$)/.test(decoded) !== isDots(decoded))
      return undefined
    if (!isDots(decoded)) kept.push(segment)
    else {
      if (decoded === '..') kept.pop()
      if (index === segments.length - 1) kept.push('')
    }
  }
  return { path: `/${kept.join('/')}`, query }
}

const isDots = (segment: string): boolean => segment === '.' || segment === '..'
