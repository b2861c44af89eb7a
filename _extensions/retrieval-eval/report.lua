-- What a report needs beyond Pandoc, for both formats.
--
-- In HTML: style sheet and script inside the page, the list of contents, and no wrappers of cells,
-- which hold the times of execution. In typst: links that can be followed on paper.

local is_html = FORMAT:match("^html") ~= nil
local n_outputs = 0

local function file(name)
  local handle = io.open(quarto.utils.resolve_path(name), "r")
  if handle == nil then return "" end
  local text = handle:read("a")
  handle:close()
  return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

-- A cell is what it shows; what libraries print to the streams is no part of the report.
local function unwrap(div)
  if div.classes:includes("cell-output-stdout") or div.classes:includes("cell-output-stderr") then
    return {}
  end
  if div.classes:includes("cell-output") or div.classes:includes("cell-output-display") then
    n_outputs = n_outputs + 1
    return div.content
  end
  local only_wraps = div.classes:includes("cell") or div.attributes["html-table-processing"]
  if only_wraps then return div.content end
end

local function html_of(inlines)
  return (pandoc.write(pandoc.Pandoc({ pandoc.Plain(inlines) }), "html"):gsub("%s+$", ""))
end

-- The ids of headings and the list of contents are those of the embedded renderer.
local function contents(doc)
  local taken, items = {}, {}
  doc.blocks = doc.blocks:walk({
    Header = function(header)
      local base = pandoc.utils.stringify(header.content):lower()
      base = base:gsub("[^a-z0-9]+", "-"):gsub("^-+", ""):gsub("-+$", "")
      if base == "" then base = "section" end
      taken[base] = (taken[base] or 0) + 1
      header.identifier = taken[base] == 1 and base or base .. "-" .. taken[base]
      if header.level == 2 then
        local text = html_of(header.content)
        table.insert(items, '<li><a href="#' .. header.identifier .. '">' .. text .. "</a></li>")
      end
      return header
    end,
  })
  return "<ol>\n" .. table.concat(items, "\n") .. "\n</ol>"
end

-- What runs under the heading of the report, for notebooks that were executed by hand.
local function running(doc)
  local found
  doc.blocks:walk({
    RawBlock = function(raw)
      local name, value = raw.text:match('class="block header.-<dt>(.-)</dt>%s*<dd>(.-)</dd>')
      if name and not found then found = name .. " " .. value end
    end,
  })
  return found
end

-- Texts of the front matter have %XX for what is markup.
local function plain(value)
  local text = pandoc.utils.stringify(value):gsub("%%(%x%x)", function(code)
    return string.char(tonumber(code, 16))
  end)
  return text
end

-- The links to where the page belongs.
local function back(links)
  local made = ""
  for _, link in ipairs(links or {}) do
    made = made .. html_of({ pandoc.Link("← " .. plain(link.text), plain(link.place)) })
  end
  return made ~= "" and '<p class="back">' .. made .. "</p>" or ""
end

local function raw(text)
  return pandoc.MetaInlines({ pandoc.RawInline("html", text) })
end

local function as_html(doc)
  local meta, said = doc.meta, running(doc)
  if meta.title then doc.blocks:insert(1, pandoc.Header(1, meta.title)) end
  meta["table-of-contents"], meta.back = raw(contents(doc)), raw(back(meta.back))
  meta.css, meta.script = raw(file("report.css")), raw(file("report.js"))
  if meta.title and not meta.pagetitle then
    meta.pagetitle = raw(html_of(meta.title) .. (said and " · " .. said or ""))
  end
  local footer = meta.footer and html_of(meta.footer) or said
  meta.footer = raw((footer and footer .. " · " or "") .. "rendered by Quarto")
  return doc
end

local function as_typst(doc)
  local labels = {}
  doc.blocks:walk({
    RawBlock = function(raw)
      for name in raw.text:gmatch('#label%("([^"]+)"%)') do
        labels[name] = (labels[name] or 0) + 1
      end
    end,
  })
  doc.blocks = doc.blocks:walk({
    Link = function(link)
      local name = link.target:match("^#(.+)$")
      if name and labels[name] == 1 then
        local reference = 'label("' .. name .. '")'
        if name:match("^fig%-") then
          local number = pandoc.RawInline("typst", "(#ref(" .. reference .. "))")
          return link.content .. { pandoc.Space(), number }
        end
        local opening = pandoc.RawInline("typst", "#link(" .. reference .. ")[")
        return pandoc.Inlines({ opening }) .. link.content .. { pandoc.RawInline("typst", "]") }
      end
      -- On paper nothing lies beside the page.
      if not link.target:match("^https?://") then return link.content end
    end,
  })
  return doc
end

function Pandoc(doc)
  for _, key in ipairs({ "pagetitle", "footer" }) do
    if doc.meta[key] then
      doc.meta[key] = pandoc.MetaInlines({ pandoc.Str(plain(doc.meta[key])) })
    end
  end
  doc.blocks = doc.blocks:walk({ Div = unwrap })
  if n_outputs == 0 and quarto.doc.input_file:match("%.ipynb$") then
    -- Quarto's own error() goes on and leaves an empty page.
    io.stderr:write("no cell of this notebook has an output: execute it before rendering it\n")
    os.exit(1)
  end
  if is_html then return as_html(doc) end
  return as_typst(doc)
end
