/** Whether a file may have secrets: a warning, and no rule, because names and contents prove nothing. */
import { basename } from 'node:path'

const folders: ReadonlySet<string> = new Set(['.aws', '.docker', '.git', '.gnupg', '.kube', '.ssh'])
const names =
  /^(?:\.env(?:\..+)?|\.(?:dockercfg|git-credentials|htpasswd|netrc|npmrc|pgpass|pypirc)|credentials|id_(?:rsa|dsa|ecdsa|ed25519)|.*\.(?:key|p12|pfx|jks|keystore|kdbx|tfstate))$/i
/** Files that people publish with names like those. */
const samples = /\.(?:dist|example|sample|template)$/i
const privateKey = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/

/** @param path with `/` */
export const isLikelySecret = (path: string, content: Buffer): boolean =>
  path.split('/').some((each) => folders.has(each)) ||
  (names.test(basename(path)) && !samples.test(path)) ||
  privateKey.test(content.toString('latin1'))
