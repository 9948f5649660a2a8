/** The command line: releases, addresses of credentials, files of the user, and output. */
import type { Change } from '../change.ts'

const cli = 'apps/cli/src'

export const commandLineChanges: readonly Change[] = [
  {
    file: `${cli}/upgrade/upgrade.ts`,
    from: 'compareVersions(version, current) < 0 && !allowDowngrade',
    to: 'compareVersions(version, current) < -1 && !allowDowngrade',
    breaks: 'a release one patch older needs --allow-downgrade',
    tests: [`${cli}/upgrade/upgrade.test.ts`],
  },
  {
    file: `${cli}/upgrade/upgrade.ts`,
    from: 'if (found !== version)',
    to: "if (found === '')",
    breaks: 'an archive with another version inside is refused',
    tests: [`${cli}/upgrade/upgrade.test.ts`],
  },
  {
    file: `${cli}/upgrade/stage.ts`,
    from: 'if (found === sha256) return',
    to: 'if (found.length === sha256.length) return',
    breaks: 'an archive with another digest than the signed one is refused',
    tests: [`${cli}/upgrade/stage.test.ts`],
  },
  {
    file: `${cli}/release/verify.ts`,
    from: 'if (valid.length < threshold)',
    to: 'if (valid.length < 1)',
    breaks: 'a release needs as many signatures as the threshold',
    tests: [`${cli}/release/verify.test.ts`],
  },
  {
    file: `${cli}/release/verify.ts`,
    from: 'nowSeconds < expiresAt',
    to: 'expiresAt > 0',
    breaks: 'an expired release key signs nothing',
    tests: [`${cli}/release/verify.test.ts`],
  },
  {
    file: `${cli}/context/confirm.ts`,
    from: 'if (readKeys(path).includes(key)) return',
    to: 'if (readKeys(path).length > 0) return',
    breaks: 'each address is confirmed of its own',
    tests: [`${cli}/context/confirm.test.ts`],
  },
  {
    file: `${cli}/context/confirm.ts`,
    from: 'await confirm()\n',
    to: 'void confirm\n',
    breaks: 'no credential is sent before the address is confirmed',
    tests: [`${cli}/context/confirm.test.ts`],
  },
  {
    file: `${cli}/context/redact.ts`,
    from: 'isSecretName(name) && !/^(?:Bearer|DPoP|Session|Basic) /i.test(value)',
    to: 'value === ""',
    breaks: '--verbose shows no secret header',
    tests: [`${cli}/context/redact.test.ts`],
  },
  {
    file: `${cli}/context/service-url.ts`,
    from: "if (url.protocol === 'http:' && !loopback.test(url.hostname))",
    to: "if (url.protocol === 'ftp:')",
    breaks: 'no credential is sent to another host without TLS',
    tests: [`${cli}/context/service-url.test.ts`],
  },
  {
    file: `${cli}/login/sign-ins.ts`,
    from: 'if (login && login.identityUrl !== identityUrl) throw damagedFile(path, remedy)\n',
    to: '',
    breaks: 'tokens are sent to the service that issued them',
    tests: [`${cli}/login/sign-ins.test.ts`],
  },
  {
    file: `${cli}/output/terminal.ts`,
    from: 'paint(stdout, withoutControls(text), colour)',
    to: 'paint(stdout, text, colour)',
    breaks: 'control sequences of a stranger do not reach the terminal',
    tests: [`${cli}/output/terminal.test.ts`],
  },
  {
    file: `${cli}/output/browser.ts`,
    from: 'if (!terminal.isInteractive || !isPlain(url)) return false',
    to: 'if (!terminal.isInteractive) return false',
    breaks: 'only a plain URL is given to another program',
    tests: [`${cli}/output/browser.test.ts`],
  },
  {
    file: `${cli}/archive/pack.ts`,
    from: '!path.startsWith(realpathSync(folder) + sep) || ',
    to: '',
    breaks: 'a link that leads out of the folder is not packed',
    tests: [`${cli}/archive/pack.test.ts`],
  },
  {
    file: `${cli}/support/mask.ts`,
    from: '  hideKeys(text, hidden)\n',
    to: '',
    breaks: 'a support bundle has no private key',
    tests: [`${cli}/support/mask.test.ts`],
  },
]
