import * as z from 'zod'
import { isAddressOrNetwork } from '../addresses/address-set.ts'
import { readLocalAddress } from '../addresses/local-address.ts'

/** One setting: described once, read from the configuration file, the environment and the command line alike. */
export interface Option<T = unknown> {
  readonly description: string
  readonly fallback: T
  readonly schema: z.ZodType<T>
  /** Environment variable that sets it. */
  readonly env?: string
  /** A text from the environment or the command line, as the value that the schema expects. */
  readonly fromText: (text: string) => unknown
}

export type Options = Readonly<Record<string, Option>>

/** The values of a table of options. */
export type ConfigOf<Table extends Options> = {
  readonly [Name in keyof Table]: Table[Name] extends Option<infer T> ? T : never
}

const verbatim = (text: string): unknown => text
const toBoolean = (text: string): unknown => (text === 'true' ? true : text === 'false' ? false : text)
const toNumber = (text: string): unknown => (text.trim() === '' ? text : Number(text))
const toList = (text: string): unknown =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)

type Extra = { readonly env?: string }

export const option = {
  text: (fallback: string, description: string, extra: Extra = {}): Option<string> => ({
    fallback,
    description,
    schema: z.string(),
    fromText: verbatim,
    ...extra,
  }),
  boolean: (fallback: boolean, description: string, extra: Extra = {}): Option<boolean> => ({
    fallback,
    description,
    schema: z.boolean(),
    fromText: toBoolean,
    ...extra,
  }),
  port: (fallback: number, description: string, extra: Extra = {}): Option<number> => ({
    fallback,
    description,
    schema: z.number().int().min(0).max(65_535),
    fromText: toNumber,
    ...extra,
  }),
  seconds: (fallback: number, range: readonly [number, number], description: string): Option<number> => ({
    fallback,
    description: `${description} Seconds.`,
    schema: z.number().int().min(range[0]).max(range[1]),
    fromText: toNumber,
  }),
  count: (fallback: number, range: readonly [number, number], description: string): Option<number> => ({
    fallback,
    description,
    schema: z.number().int().min(range[0]).max(range[1]),
    fromText: toNumber,
  }),
  bytes: (fallback: number, description: string): Option<number> => ({
    fallback,
    description,
    schema: z.number().int().min(0),
    fromText: toNumber,
  }),
  list: (fallback: readonly string[], description: string, extra: Extra = {}): Option<readonly string[]> => ({
    fallback,
    description,
    schema: z.array(z.string()),
    fromText: toList,
    ...extra,
  }),
  /** Texts of a form. @param expected what is valid, for error messages */
  rules: (
    accepts: (text: string) => boolean,
    expected: string,
    description: string,
  ): Option<readonly string[]> => ({
    fallback: [],
    description,
    schema: z.array(z.string().max(1000).refine(accepts, `expected ${expected}`)).max(1000),
    fromText: toList,
  }),
  networks: (fallback: readonly string[], description: string): Option<readonly string[]> => ({
    fallback,
    description,
    schema: z.array(
      z
        .string()
        .refine(
          isAddressOrNetwork,
          'expected IP addresses, or networks such as 10.0.0.0/8; host names are not resolved',
        ),
    ),
    fromText: toList,
  }),
  choice: <const T extends string>(
    choices: readonly T[],
    fallback: NoInfer<T>,
    description: string,
  ): Option<T> => ({
    fallback,
    description,
    schema: z.enum(choices) as unknown as z.ZodType<T>,
    fromText: verbatim,
  }),
  /** An HTTP URL without a path; plain HTTP only to this machine, since tokens travel on it. */
  url: (fallback: string, description: string, extra: Extra = {}): Option<string> => ({
    fallback,
    description,
    schema: z
      .string()
      .refine(
        isSafeUrl,
        'expected an https URL, or an http one of this machine, with nothing after the port',
      ),
    fromText: verbatim,
    ...extra,
  }),
  /**
   * An HTTP URL with a path, for a browser; plain HTTP only to this machine. Its host fits a Content-Security-Policy: no
   * credentials, wildcards or characters that a policy reads. Empty: not set.
   */
  pageUrl: (description: string): Option<string> => ({
    fallback: '',
    description,
    schema: z
      .string()
      .refine(
        (text) => text === '' || isPageUrl(text),
        'expected an https URL, or an http one of this machine, without credentials, spaces or a fragment',
      ),
    fromText: verbatim,
  }),
  /** Origins that a Content-Security-Policy may name, as for {@link option.pageUrl}: at most 16. */
  origins: (description: string): Option<readonly string[]> => ({
    fallback: [],
    description,
    schema: z
      .array(
        z
          .string()
          .refine(
            (text) => isPageUrl(text) && URL.parse(text)?.origin === text,
            'expected origins such as https://tiles.example, without a path and without wildcards',
          ),
      )
      .max(16),
    fromText: toList,
  }),
  /** Where programs of this machine connect: an absolute path, or `<loopback address>:<port>`. Empty: nowhere. */
  localAddress: (description: string): Option<string> => ({
    fallback: '',
    description,
    schema: z
      .string()
      .refine(
        (text) => text === '' || readLocalAddress(text) !== undefined,
        'expected the absolute path of a Unix socket, or a port of the loopback interface such as 127.0.0.1:9464',
      ),
    fromText: verbatim,
  }),
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

const isEncryptedOrLocal = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname))

function isSafeUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && url.origin === text && isEncryptedOrLocal(url)
}

/** URLs allow `*`, `;` and `,` in a host, and a policy reads them as its own signs. It has no form for IPv6 addresses. */
const policyHost = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/
const maxUrlLength = 2048

function isPageUrl(text: string): boolean {
  const url = URL.parse(text)
  if (!url || text.length > maxUrlLength || !/^[!-~]+$/.test(text) || /[#\\]/.test(text)) return false
  return (
    url.username === '' && url.password === '' && policyHost.test(url.hostname) && isEncryptedOrLocal(url)
  )
}
