/**
 * Packages that use files, decode streams or open TCP connections in their variant for Node.js, and cannot in that for browsers. A function has what
 * they need, so they are bundled as Node.js finds them. All other packages come as browsers and workers get them.
 */
import { createRequire } from 'node:module'
import { packageOfFile } from './absent.ts'

const packages = new Set(['ejs', 'iconv-lite', 'mqtt', 'nunjucks', 'pino', 'superagent', 'ws'])

/** The name of the package of a specifier; undefined for a path. */
function packageOfSpecifier(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('/')) return undefined
  const [first = '', second = ''] = specifier.split('/', 2)
  return first.startsWith('@') ? `${first}/${second}` : first
}

/**
 * The file that Node.js loads for an import of such a package, or for one inside of it.
 *
 * @returns undefined for any other import, and where Node.js finds no file
 */
export function resolveAsNode(specifier: string, importer: string): string | undefined {
  const name = packageOfSpecifier(specifier) ?? packageOfFile(importer)
  if (name === undefined || !packages.has(name)) return undefined
  try {
    return createRequire(importer).resolve(specifier)
  } catch {
    return undefined
  }
}
