# Copies a public header FROM the tree TO the flat <tenon/...> folder: "te/te.h" becomes <tenon/te.h>.
file(READ ${FROM} text)
string(REGEX REPLACE "#include \"[a-z_/]+/([a-z_]+)\\.h\"" "#include <tenon/\\1.h>" text "${text}")
file(WRITE ${TO} "${text}")
