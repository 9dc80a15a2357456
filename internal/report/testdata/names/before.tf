# Names that try to be more than names.

locals {
  keys = toset([
    "`backtick`", "```fence", "pipe|pipe", "\"quoted\"", "two\nlines", "@everyone", "#123 GH-123",
    "<details><script>alert(1)</script>", "</code></pre>", "[link](https://example.com)", "https://example.com",
    "user@example.com", "**bold** _x_ ~y~", "0123456789abcdef0123456789abcdef01234567", "![image](x.png)",
    "\u202Eright to left", "zero\u200Bwidth", "escape\u001b[2J", "ümläut 名前", "$${template}", "a\\b\\|c", "-->",
    join("", [for i in range(80) : "long${i}"]),
  ])
}

resource "terraform_data" "gone" {
  for_each = local.keys
}
