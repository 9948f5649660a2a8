/** The console: sessions in browsers, what pages show, and what strangers send them. */
import type { Change } from '../change.ts'

const console = 'apps/identity/src/api/console'
const page = 'apps/console/src'

export const consoleChanges: readonly Change[] = [
  {
    file: `${console}/cookie.ts`,
    from: 'HttpOnly; SameSite=Strict',
    to: 'HttpOnly; SameSite=Lax',
    breaks: 'the cookie of a session is sent with requests of its own site only',
    tests: [`${console}/cookie.test.ts`],
  },
  {
    file: `${console}/cookie.ts`,
    from: '&& secrets.size < maxSecrets',
    to: '',
    breaks: 'at most eight cookies of a request are looked up',
    tests: [`${console}/cookie.test.ts`],
  },
  {
    file: `${console}/enter.ts`,
    from: 'if (viewer) await sessions.end(viewer.person.personId, viewer.session.sessionId)\n',
    to: '',
    breaks: 'signing in ends the session that the browser had',
    tests: [`${console}/enter.test.ts`],
  },
  {
    file: `${console}/device-csv.ts`,
    from: "formula.test(value) || formula.test(text) ? \"'\" : ''",
    to: "''",
    breaks: 'the name of a device is no formula in a spreadsheet',
    tests: [`${console}/device-csv.test.ts`],
  },
  {
    file: `${console}/discovery-stream.ts`,
    from: 'if (line.length + part.length > maxEventCharacters)',
    to: 'if (line.length + part.length > 1000 * maxEventCharacters)',
    breaks: 'an event of the discovery service has a maximum length',
    tests: [`${console}/discovery-stream.test.ts`],
  },
  {
    file: `${console}/events.ts`,
    from: 'if (!(await isStillAllowed())) end()',
    to: 'await isStillAllowed()',
    breaks: 'the stream of a person who signed out ends',
    tests: [`${console}/events.test.ts`],
  },
  {
    file: `${console}/pages.ts`,
    from: 'if (asked !== hostname) throw',
    to: "if (asked === '') throw",
    breaks: 'the console is shown under its own host name only',
    tests: [`${console}/pages.test.ts`],
  },
  {
    file: `${page}/session/proof.ts`,
    from: 'htu: url.origin + url.pathname,',
    to: 'htu: url.origin,',
    breaks: 'a proof of the page is for one URL',
    tests: [`${page}/session/proof.test.ts`],
  },
  {
    file: `${page}/session/proof.ts`,
    from: "...(body !== undefined && { bh: encode(await crypto.subtle.digest('SHA-256', bytesOf(body))) }),\n",
    to: '',
    breaks: 'a proof of the page covers the body',
    tests: [`${page}/session/proof.test.ts`],
  },
  {
    file: `${page}/parts/map/background/read-style.ts`,
    from: 'isDeep(style) ||\n',
    to: '',
    breaks: 'a style that is nested too deeply is refused',
    tests: [`${page}/parts/map/background/read-style.test.ts`],
  },
]
