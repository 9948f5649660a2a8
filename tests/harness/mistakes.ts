/** Mistakes that people make, as they are typed; `docs/reference/mistakes.md` has what is answered to each. */

/** What runs: `device` is a runtime with an account and a token in the environment, `person` the same without a token, `nothing` no runtime. */
type Situation = 'device' | 'person' | 'nothing'

export interface Mistake {
  readonly situation: Situation
  /** Words after `selvedge`. */
  readonly typed: readonly string[]
}

const of = (situation: Situation, lines: string): Mistake[] =>
  lines
    .trim()
    .split('\n')
    .map((line) => ({
      situation,
      typed: line
        .trim()
        .split(/\s+/)
        .map((word) => word.replaceAll('␣', ' ').replace(/^''$/, '')),
    }))

/** A space in a word is written as ␣. The folder has what `filesOfMistakes` lists. */
export const mistakes: readonly Mistake[] = [
  ...of(
    'device',
    `
    dploy hello
    deploi
    list
    stauts
    container ls
    container remov hello
    image pul x
    hello logs
    admin acount list
    exec hello sh
    nonsense
    help dploy
    getMe
    getContainers
    me --jsn
    ps --tail 3
    me extra
    init worker
    init react hello
    init worker full
    deploy nowhere
    deploy full/index.ts
    deploy empty
    deploy syntax
    deploy missing-import
    deploy --profile x full
    deploy broken.yaml
    deploy nowhere.yaml
    deploy hello.tar
    deploy full --name A␣B
    deploy full --env NAME
    deploy full --env MCM.ACESS=public
    deploy full --env MCM.ACCESS=everyone
    deploy full --env MCM.CRON=often
    deploy full --env-file nowhere.env
    dev nowhere
    dev full/index.ts
    dev broken.yaml
    image deploy nowhere.tar
    image deploy text.txt
    image deploy full --name A␣B
    image pack nowhere -o x.tar
    image remove nothing
    container deploy --name x --image nothing
    container deploy --image hello
    container deploy --name x
    container start nothing
    container stop nothing
    container remove nothing
    container wait nothing running
    logs
    logs nothing
    logs nothing --tail many
    logs nothing --since yesterday
    why nothing
    curl nothing
    curl nothing --request
    open nothing
    share nothing --with ada@example.com --until 30d
    share nothing
    secret set name --file nowhere
    secret remove nothing
    app list extra
    app stop nothing
    gps update --longitude 49.25 --latitude -123.115 --speed 0 --bearing 0
    gps update --longitude 4,9 --latitude 49 --speed 0 --bearing 0
    gps update --longitude 4 --latitude 49 --speed fast --bearing 0
    gps update --latitude 49
    gps follow
    nodes --cluster near
    nodes --cluster proximity
    nodes --cluster proximity --radius far
    nodes --cluster proximity --radius 0
    location share everyone 1km
    location share others 10m
    location track --days 400
    location track --before later
    hmac create
    hmac create --uri /x --expires-in soon
    hmac verify nonsense
    call getMee
    call updateGps
    call getMe {
    call rpc.discovr
    context use nowhere
    context add kitchen
    context add kitchen --url http://192.0.2.1
    context add a/b --url https://kitchen.example
    me --context nowhere
    me --url kitchen.example
    me --url http://127.0.0.1:9
    me --token-file x
    simulate --nodes many
    completion tcsh
    upgrade nowhere.tar.gz
    admin account create --email nonsense
    admin project create
    admin token developer --client-id nothing
    admin token developer --client-id nothing --days many
    admin project offline nothing --max-days many
    admin node block nothing
    admin store backup nowhere/copy
    admin store copy --from sqlite:nowhere.db --to nowhere
    token access
    account associate --token-file text.txt
    watch fixs
    watch everything
    `,
  ),
  ...of(
    'person',
    `
    ps
    deploy full
    whoami
    logout
    gps show
    account associate
    ps --token-file text.txt
    ps --token-file nowhere
    ps --developer-token-file text.txt
    token access --developer-token-file text.txt --client-id nothing
    `,
  ),
  ...of(
    'nothing',
    `
    me
    status
    ps
    doctor --jsn
    up
    admin account list
    `,
  ),
]

/** Files of the folder in which the mistakes are typed. */
export const filesOfMistakes: Readonly<Record<string, string>> = {
  'full/index.ts': "export default { fetch: () => new Response('hello') }\n",
  'empty/README.md': 'nothing to run\n',
  'syntax/index.ts': 'export default { fetch() { retur 1 } }\n',
  'missing-import/index.ts':
    "import { x } from 'not-installed'\nexport default { fetch: () => new Response(x) }\n",
  'broken.yaml': 'services:\n  web:\n    image: [\n',
  'text.txt': 'this is not a token\n',
  'hello.tar': 'this is not an archive\n',
}
