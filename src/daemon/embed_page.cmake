# cmake -DINPUT=file -DOUTPUT=file -P embed_page.cmake: the input as a C++ string.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"daemon/page.h\"\n
namespace cuzk::daemon {
namespace {
constexpr unsigned char kPage[] = {
${bytes}
};
}  // namespace
std::string_view status_page() {
  return {reinterpret_cast<const char*>(kPage), sizeof kPage};
}
}  // namespace cuzk::daemon\n")
