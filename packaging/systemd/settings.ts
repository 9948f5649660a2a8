/** The files for systemd beside the unit, and the first settings of a service. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Product } from '../products.ts'
import { root } from '../release.ts'

/** Units beside that of the service, which has them started. */
const helpers: Readonly<Record<Product['section'], readonly string[]>> = {
  runtime: ['selvedge-join-key.path', 'selvedge-join-key.service'],
  identity: [],
  discovery: [],
}

/** The units of a product by their file names, for its program in `/usr/lib`. */
export const unitsOf = ({ name, section }: Product): readonly (readonly [file: string, text: string])[] =>
  [`${name}.service`, ...helpers[section]].map((file) => [
    file,
    readFileSync(join(root, 'packaging/systemd', file), 'utf8'),
  ])

/** The system user (sysusers.d). Its description may have no colon: it is a field of /etc/passwd. */
export const sysusersOf = ({ name, section }: Product): string =>
  `u ${name} - "Selvedge ${section}" /var/lib/${name}
`

const settings: Readonly<Record<Product['section'], object>> = {
  runtime: {
    identity: { url: 'http://127.0.0.1:8084' },
    discovery: { url: 'http://127.0.0.1:8085' },
  },
  identity: { listen: { address: '127.0.0.1', port: 8084 } },
  discovery: {
    listen: { address: '127.0.0.1', port: 8085 },
    identity: { url: 'http://127.0.0.1:8084' },
  },
}

/** The configuration file that is installed: its values are the defaults. */
export const settingsOf = ({ section }: Product): string =>
  `${JSON.stringify({ [section]: settings[section] }, undefined, 2)}\n`
