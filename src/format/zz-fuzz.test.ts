import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { toHast } from 'mdast-util-to-hast'
import { gfm } from 'micromark-extension-gfm'
import { log, said, answered, header, textBlock } from '../core/builders.ts'
import { transcriptMarkdown } from './markdown.ts'
const atom = fc.constantFrom('`','`','``','```','````','~~~','|','|---|\n','|-|-|\n','](','[x](','[','[^x',']',']:',':','\\','https://a','www.a','<b>','<!--','-->','<script>','</p>','<?','<![CDATA[','<a href="','"',"'",'(',')','\t',' ',' ','    ','- ','> ','1. ','#','\n','\n','\n\n','User','a','<https://x.y>','<','&lt;','*','===','$','\u00a0','\ufeff','x','MARK','@a.b','[x] ')
const text = fc.array(atom, { maxLength: 25 }).map(p => p.join(''))
const walk = (n: any, f: (n: any) => void): void => { f(n); for (const c of n.children ?? []) walk(c, f) }
const words = (n: any): string => n.value ?? (n.children ?? []).map(words).join('')
it('fuzz', () => {
  let kept = 0
  fc.assert(fc.property(fc.array(text, {maxLength:3}), text, text, (texts, r, title) => {
    const md = [...transcriptMarkdown({ header: header(), events: log(...texts.map(t => said([{type:'reasoning',text:r} as any, textBlock(t)])), said('see [User] SECOND [x] [a] [^x]')) }, { title })].join('')
    const tree = fromMarkdown(md, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] })
    const bad: string[] = []
    walk(tree, n => { if (['html','definition','footnoteDefinition','linkReference','imageReference','footnoteReference'].includes(n.type)) bad.push(n.type); if(n.type==='inlineCode'&&/<[a-z]/i.test(n.value)) kept++ })
    expect(bad).toEqual([])
    walk(toHast(tree, { allowDangerousHtml: true }), n => expect(n.type).not.toBe('raw'))
    const top = tree.children as any[]
    const last = top[top.length - 2]
    expect([last.type, words(last)]).toEqual(['paragraph', 'see [User] SECOND [x] [a] [^x]'])
    expect(top.filter(n => n.type==='heading').filter(n=>n.depth===3&&words(n)==='User').length).toBeGreaterThanOrEqual(texts.length+1)
    if (title.trim()) { expect(top[0].children.every((c:any)=>c.type==='text'||c.type==='link')).toBe(true) }
  }), { numRuns: Number(process.env['RUNS'] ?? 20000) })
  console.log('kept', kept)
}, 600000)
