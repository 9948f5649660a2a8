/* Bundles the app as its authors do: node build.cjs <folder>. */
const { join } = require('node:path')
const webpack = require('webpack')

const [, , folder] = process.argv
webpack(
  {
    mode: 'production',
    target: ['web', 'es2017'],
    entry: join(__dirname, 'app/index.js'),
    output: { path: folder, filename: 'index.js' },
    // Parts of Node that the packages name for servers, and do not need elsewhere.
    resolve: { fallback: { http: false, url: false } },
  },
  (failure, stats) => {
    if (!failure && !stats.hasErrors()) return
    console.error(failure ?? stats.toString())
    process.exitCode = 1
  },
)
