/** Bundles of TypeScript for this Node, in which the library is imported by its package name and stands for its source. */
import { join } from 'node:path'
import { root } from './setup.mjs'

/** What every build here has in common. */
export const common = {
  configFile: false,
  publicDir: false,
  logLevel: 'error',
  resolve: {
    alias: [
      { find: /^palimpsest$/, replacement: join(root, 'src/index.ts') },
      { find: /^palimpsest\/(.+)$/, replacement: join(root, 'src/$1.ts') },
    ],
  },
}

/** Bundles `entry`, a path below the project, to plain ESM in `outDir`, packages left outside. Returns the path. */
export async function bundle(entry, outDir, name = `${entry.replaceAll('/', '_').replace(/\.ts$/, '')}.mjs`) {
  const { build } = await import('vite')
  await build({
    ...common,
    root,
    build: {
      ssr: join(root, entry),
      target: 'node20',
      minify: false,
      outDir,
      emptyOutDir: false,
      rolldownOptions: { output: { entryFileNames: name, codeSplitting: false } },
    },
  })
  return join(outDir, name)
}
