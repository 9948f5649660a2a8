/** The document of the status page: one file, with nothing from elsewhere. Texts of the device are set as text, never as HTML. */
import { noticeReasons, rpcPath } from '@selvedge/protocol'
import { fingerprint } from '@selvedge/protocol/tokens'
import { pageNonceHeader } from '@selvedge/service-kit/http'

const mark = (cloth: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true"><rect fill="${cloth}" width="32" height="32" rx="7"/><path d="M19.5 8H11a4 4 0 0 0 0 8h6.5a4 4 0 0 1 0 8H8" fill="transparent" stroke="#fbf9f3" stroke-width="4" stroke-linecap="round"/><path d="M27 .6v30.8" stroke="#ff6a5b" stroke-width="2"/></svg>`

export const style = `
:root{color-scheme:light dark;--ground:light-dark(#f7f5f0,#0c0f16);--surface:light-dark(#fff,#131722);--sunken:light-dark(#f2efe8,#0f131b);
--text:light-dark(#191c25,#e9ebf1);--soft:light-dark(#545967,#a9b0bf);--line:light-dark(#e6e2d8,#242b39);--accent:light-dark(#2a479b,#97aefa);
--good:light-dark(#17693d,#62cf94);--good-tint:light-dark(#e5f3ea,#11281e);--warn:light-dark(#825400,#e6b95f);--warn-tint:light-dark(#fbf1dc,#2a2213);
--bad:light-dark(#ad2419,#ff988d);--bad-tint:light-dark(#fcebe8,#331917)}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:400 .875rem/1.5 "Inter Variable",Inter,system-ui,sans-serif}
main{max-width:52rem;margin:0 auto;padding:24px 16px 48px}
header{display:flex;align-items:center;gap:12px;margin-bottom:24px}
header svg{flex:0 0 auto}
header p{margin:0;font-weight:600}
header small{display:block;font-size:.75rem;font-weight:400;color:var(--soft)}
h1{margin:0;font-size:1.375rem;line-height:1.25;font-weight:600;letter-spacing:-.017em;overflow-wrap:anywhere}
h2{margin:0;padding:12px 16px;font-size:.875rem;line-height:1.25;font-weight:600;border-bottom:1px solid var(--line)}
.title{display:flex;flex-wrap:wrap;align-items:center;gap:8px 12px;margin-bottom:16px}
.badge{display:inline-flex;align-items:center;gap:6px;padding:2px 10px;border-radius:99px;font-size:.75rem;font-weight:500;white-space:nowrap}
.badge::before{content:"";width:8px;height:8px;border-radius:50%;background:currentColor}
.good{color:var(--good);background:var(--good-tint)}
.warn{color:var(--warn);background:var(--warn-tint)}
.warn::before{background:transparent;border:2px solid currentColor}
.bad{color:var(--bad);background:var(--bad-tint)}
.bad::before{border-radius:1px}
section{margin-bottom:16px;background:var(--surface);border:1px solid var(--line);border-radius:10px;overflow:hidden}
dl{margin:0;padding:4px 16px}
dl>div{display:grid;grid-template-columns:32% 1fr;gap:4px 16px;padding:8px 0}
dl>div+div{border-top:1px solid var(--line)}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
code{padding:1px 5px;border-radius:4px;background:var(--sunken);font:.8125rem/1.5 ui-monospace,"SF Mono",Menlo,Consolas,monospace;overflow-wrap:anywhere}
dd>small,li>small{display:block;font-size:.75rem;color:var(--soft)}
ul{margin:0;padding:4px 16px;list-style-type:""}
li{padding:8px 0;overflow-wrap:anywhere}
li+li{border-top:1px solid var(--line)}
footer{font-size:.75rem;color:var(--soft)}
@media (min-width:48rem){main{padding:32px 32px 48px}}
@media (max-width:40rem){dl>div{grid-template-columns:1fr;gap:0}}
`

const textsOfNotices = JSON.stringify(noticeReasons).replaceAll('<', '\\u003c')

export const script = `'use strict'
const texts = ${textsOfNotices}
const find = (id) => document.getElementById(id)
const nonce = document.querySelector('meta[name=page-nonce]').content
const make = (name, text) => { const made = document.createElement(name); made.textContent = text; return made }
const when = (time) => time ? new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' }) : ''
function show(id, text, more, state) {
  const row = find(id)
  const shown = state ? make('span', text) : document.createElement(row.dataset.code === undefined ? 'span' : 'code')
  if (state) shown.className = 'badge ' + state
  shown.textContent = text
  const children = more ? [shown, make('small', more)] : [shown]
  if (row.textContent !== children.map((each) => each.textContent).join('')) row.replaceChildren(...children)
}
function showState(text, state) {
  const badge = find('state')
  if (badge.textContent !== text) badge.textContent = text
  badge.className = 'badge ' + state
}
function showService(id, remote) {
  if (remote.reachable === null) return show(id, 'Not needed so far', remote.url)
  if (remote.reachable) return show(id, 'Reachable', 'since ' + when(remote.since), 'good')
  show(id, 'Unreachable', 'since ' + when(remote.since) + (remote.lastError ? ': ' + remote.lastError : ''), 'bad')
}
function showNotices(notices) {
  find('notices').hidden = notices.length === 0
  find('list').replaceChildren(...notices.map(({ reason, time }) => {
    const item = make('li', Object.hasOwn(texts, reason) ? texts[reason] : reason)
    item.append(make('small', when(time)))
    return item
  }))
}
function render(me) {
  document.title = me.name + ' · Selvedge'
  find('name').textContent = me.name
  const count = me.notices.length
  showState(count === 0 ? 'Running' : count === 1 ? '1 notice' : count + ' notices', count === 0 ? 'good' : 'warn')
  show('node', me.nodeId)
  show('fingerprint', me.nodeId.slice(0, ${fingerprint.characters}).match(/.{${fingerprint.group}}/g).join('-'), me.accountId ? '' : 'An owner who approves this device compares it')
  if (me.accountId) show('account', me.accountId)
  else show('account', 'No account', 'Add this device to an account: selvedge account associate')
  show('version', me.version)
  show('address', me.linkLocalIp || 'No address')
  const times = { trusted: ['Confirmed', 'good'], held: ['Plausible, not confirmed yet', 'warn'], unknown: ['Unknown', 'bad'] }
  const [time, state] = times[me.time.state] || [me.time.state, 'warn']
  show('time', time, when(me.time.now), state)
  showService('identity', me.network.identity)
  showService('discovery', me.network.discovery)
  const { checkedAt, issuedAt } = me.revocations
  show('revocations', checkedAt ? 'Confirmed' : issuedAt ? 'Stored, not confirmed since the start' : 'No list yet', when(checkedAt || issuedAt))
  showNotices(me.notices)
}
async function refresh() {
  try {
    const response = await fetch('${rpcPath}', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', '${pageNonceHeader}': nonce },
      body: '{"jsonrpc":"2.0","id":1,"method":"getMe","params":[]}',
      cache: 'no-store',
      credentials: 'omit',
      signal: AbortSignal.timeout(5000),
    })
    const { result } = await response.json()
    render(result)
  } catch {
    showState('No answer', 'bad')
    find('hint').hidden = false
    return
  }
  find('hint').hidden = true
}
refresh()
setInterval(() => document.visibilityState === 'visible' && refresh(), 5000)
document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && refresh())
`

const row = (id: string, label: string, isCode = false): string =>
  `<div><dt>${label}</dt><dd id="${id}"${isCode ? ' data-code' : ''}>…</dd></div>`

/** @param pageNonce letters, digits, - and _ */
export const createDocument = (pageNonce: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="page-nonce" content="${pageNonce}">
<title>Selvedge</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(mark('#22397d'))}">
<style>${style}</style>
</head>
<body>
<main>
<header>${mark('light-dark(#22397d,#2c458f)')}<p>Selvedge<small>Status of this device</small></p></header>
<div class="title"><h1 id="name">This device</h1><span id="state" class="badge warn" role="status">Loading</span></div>
<noscript><p>This page needs JavaScript. In a terminal: <code>selvedge status</code></p></noscript>
<p id="hint" hidden>The runtime does not answer, or was started again. Reload this page. In a terminal: <code>selvedge status</code></p>
<section id="notices" hidden aria-labelledby="notices-title"><h2 id="notices-title">Needs attention</h2><ul id="list"></ul></section>
<section aria-labelledby="device-title"><h2 id="device-title">Device</h2><dl>
${row('account', 'Account', true)}
${row('node', 'Node ID', true)}
${row('fingerprint', 'Fingerprint', true)}
${row('version', 'Version')}
${row('address', 'Local address')}
${row('time', 'Time')}
</dl></section>
<section aria-labelledby="services-title"><h2 id="services-title">Cloud services</h2><dl>
${row('identity', 'Identity')}
${row('discovery', 'Discovery')}
${row('revocations', 'Revoked tokens')}
</dl></section>
<footer>Shows what <code>getMe</code> returns to every program on this device. Updates every 5 seconds.</footer>
</main>
<script>${script}</script>
</body>
</html>
`
