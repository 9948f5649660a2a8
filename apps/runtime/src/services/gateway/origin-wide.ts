/**
 * Response fields that act on the whole origin, and not on the resource that sent them. All services share the origin of the
 * runtime, so no service may send one. Source: the fields of the IANA registry of HTTP field names
 * (https://www.iana.org/assignments/http-fields), and those of browsers that are not registered, by what they act on.
 */
const fieldsByEffect = {
  'connections and certificates of the host': [
    'alt-svc',
    'expect-ct',
    'include-referred-token-binding-id',
    'public-key-pins',
    'public-key-pins-report-only',
    'strict-transport-security',
  ],
  'reports about other resources': ['nel', 'report-to', 'reporting-endpoints'],
  'requests for other resources': [
    'accept-ch',
    'accept-ch-lifetime',
    'critical-ch',
    'service-worker-allowed',
    'sourcemap',
    'speculation-rules',
    'use-as-dictionary',
    'x-sourcemap',
  ],
  'stored data and caches of the origin': [
    'cache-group-invalidation',
    'clear-site-data',
    'sec-shared-storage-writable',
    'shared-storage-write',
  ],
  'sessions of the origin': [
    'idp-signin-status',
    'sec-session-challenge',
    'sec-session-registration',
    'secure-session-challenge',
    'secure-session-registration',
    'set-login',
  ],
  'measurements and advertising of the origin': [
    'ad-auction-allowed',
    'attribution-reporting-register-os-source',
    'attribution-reporting-register-os-trigger',
    'attribution-reporting-register-source',
    'attribution-reporting-register-trigger',
    'observe-browsing-topics',
  ],
  'processes and features of the origin': [
    'critical-origin-trial',
    'origin-agent-cluster',
    'origin-isolation',
    'origin-trial',
  ],
} as const

export const originWideFields: ReadonlySet<string> = new Set(Object.values(fieldsByEffect).flat())

/**
 * Whether a field of a service acts beyond the service. `Refresh` may reload the page that sends it, and not name another one.
 *
 * @param name in lower case
 */
export const isOriginWide = (name: string, value: string): boolean =>
  originWideFields.has(name) || (name === 'refresh' && !/^\s*[\d.]+\s*$/.test(value))
